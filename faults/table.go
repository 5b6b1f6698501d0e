package faults

import (
	"strings"

	"nova/core"
)

// Side is where a cut stands beside an effect.
type Side uint8

const (
	Before Side = iota // the effect does not land
	After              // it lands, its reply is taken, and what the turn emits is in flight
	Silent             // it lands, and its reply is never delivered

	Sides = int(Silent) + 1
)

var sideNames = [Sides]string{"before", "after", "silent"}

func (s Side) String() string {
	if int(s) < len(sideNames) {
		return sideNames[s]
	}
	return "side?"
}

// Kind is the fault that cuts at the side.
func (s Side) Kind() Kind { return [Sides]Kind{CutBefore, CutAfter, CutSilent}[s] }

// SideOf is the side on which a kind cuts; false: it is no cut at an effect.
func SideOf(k Kind) (Side, bool) {
	switch k {
	case CutBefore, CutUpload:
		return Before, true
	case CutAfter, CutMark:
		return After, true
	case CutSilent:
		return Silent, true
	}
	return Before, false
}

// Cut is one way to stand at a row of the crash table: at an effect, or at a mark.
type Cut struct {
	Point string // a boundary's name (package boundaries); "": a mark
	Side  Side
	Root  string        // only of such a process ("teardown"); "": of any
	Mark  core.NoteKind // a note that a turn makes: the cut comes as the turn is over
}

// Row is one row of the specification's crash table: where a process is cut, what
// whoever comes after it finds, and why that is no harm.
type Row struct {
	Name string // "put-before-commit"
	Cut  string // after what, and before what
	Sees string
	Why  string
	Cuts []Cut
}

// Table is the crash table (specification, reclamation: Crash points). Where Nova
// does in one transaction what the table has in two steps, the gap between them is
// gone; the row is then bound to the sides of that transaction, and its sentence
// says so.
var Table = [...]Row{
	{
		Name: "intent-before-put",
		Cut:  "an output is announced, and nothing of it has been written",
		Sees: "an intent, and no object at its key",
		Why:  "the orphan judge finds nothing there and relieves the intent, or a retry adopts it and publishes",
		Cuts: []Cut{
			{Point: "protocol.Publish.Step/pubAnnounce:txn", Side: Silent},
			{Point: "protocol.Publish.Step/pubCreate:create", Side: Before},
			{Point: "protocol.Publish.Step/pubUpload:create-upload", Side: Before},
		},
	},
	{
		Name: "put-before-commit",
		Cut:  "the output stands, and no ref names it",
		Sees: "an intent, and an object under it",
		Why:  "a retry derives the same key and commits what stands; with no retry the orphan judge deletes it a grace later",
		Cuts: []Cut{
			{Point: "protocol.Publish.Step/pubCreate:create", Side: Silent},
			{Point: "protocol.Publish.Step/pubComplete:complete", Side: Silent},
			{Point: "protocol.Commit.Step/commitSend:txn", Side: Before},
		},
	},
	{
		Name: "lost-race",
		Cut:  "another's object stands at the key already",
		Sees: "a standing object, which may cover less than the walk does",
		Why:  "the commit describes what stands, to the end of a row; the rest stays in transit for the next pass",
		Cuts: []Cut{{Mark: core.NotePublishLostRace}},
	},
	{
		Name: "commit-before-resolve",
		Cut:  "a ref names the output, and its intent stands",
		Sees: "a referenced object under an intent",
		Why:  "the orphan judge finds the ref, and resolves the intent alone",
		Cuts: []Cut{
			{Point: "protocol.Commit.Step/commitSend:txn", Side: Silent},
			{Point: "protocol.Resolve.Step:txn", Side: Before},
		},
	},
	{
		Name: "commit-before-watcher",
		Cut:  "the output is visible, and its sources have no watcher of their own yet",
		Sees: "the duty's marker, which still watches them",
		Why:  "the marker runs again: what was moved judges as covered, and its watcher is armed",
		Cuts: []Cut{
			{Point: "duty.Era.Step/eraClose:txn", Side: Before},
			{Point: "duty.GCRewrite.Step/gcArm:txn", Side: Before},
		},
	},
	{
		Name: "armed-before-resolve",
		Cut:  "the next watcher is armed; here the marker goes in the same transaction, and only its answer can be missing",
		Sees: "the armed watcher, and no marker; or a marker that is armed once more",
		Why:  "keys are derived, so that arming twice is arming once, and a marker is resolved as it was read",
		Cuts: []Cut{
			{Point: "duty.Era.Step/eraClose:txn", Side: Silent},
			{Point: "duty.GCRewrite.Step/gcArm:txn", Side: Silent},
			{Point: "duty.TrimCheck.Step/trimAdvance:txn", Side: Silent},
			{Point: "duty.Retention.Step/retentionRearm:txn", Side: Silent},
		},
	},
	{
		Name: "armed-before-kill",
		Cut:  "a killer arms and kills in one transaction: it is cut before that, or as a probe finds that somebody armed too early",
		Sees: "nothing new, or a reap-check of an object that lives",
		Why:  "the walk derives anew; a probe that finds a live span stands down",
		Cuts: []Cut{
			{Point: "protocol.Walk.Step/walkKill:txn", Side: Before},
			{Point: "duty.Retention.Step/retentionShed:txn", Side: Before},
			{Mark: core.NoteProbeStand},
		},
	},
	{
		Name: "unconfirmed-probe",
		Cut:  "a first probe found everything dead, and has said so",
		Sees: "a confirmed marker, one read grace out",
		Why:  "its probe looks again before anything is deleted",
		Cuts: []Cut{
			{Point: "duty.ReapCheck.Step/reapConfirm:txn", Side: Silent},
			{Mark: core.NoteReapConfirmArmed},
		},
	},
	{
		Name: "delete-before-resolve",
		Cut:  "the object is deleted, and its marker stands",
		Sees: "a marker over an object that is gone",
		Why:  "the probe judges it gone, and the marker is resolved",
		Cuts: []Cut{
			{Point: "duty.ReapCheck.Step/reapDelete:delete", Side: Silent},
			{Mark: core.NoteReapDeleted},
		},
	},
	{
		Name: "rewritten-cursor",
		Cut:  "the chain's rewritten cursor has moved",
		Sees: "the same batch markers, and the cursor where they put it",
		Why:  "the cursor derives from what stands; whoever loses the compare reads again",
		Cuts: []Cut{
			{Point: "duty.TrimCheck.Step/trimAdvance:txn", Side: Silent},
			{Mark: core.NoteTrimAdvanced},
		},
	},
	{
		Name: "teardown-mid-kill",
		Cut:  "a teardown's walk has killed some of its refs",
		Sees: "the other refs, and a reap-check of every object that lost one",
		Why:  "the walk derives from what stands; arming went with each kill",
		Cuts: []Cut{
			{Point: "protocol.Walk.Step/walkKill:txn", Side: Silent, Root: "teardown"},
			{Point: "protocol.Walk.Step/walkKill:txn", Side: After, Root: "teardown"},
		},
	},
	{
		Name: "settle-member",
		Cut:  "an era has settled some of its streams",
		Sees: "the era's marker, and the outputs of the members that were through",
		Why:  "those judge as covered, and only the others move",
		Cuts: []Cut{{Mark: core.NoteSettleOutput}},
	},
}

// Rows is how many rows the table has.
const Rows = len(Table)

// RowNamed finds a row; blanks in a name count as hyphens.
func RowNamed(name string) (int, bool) {
	name = strings.Join(strings.Fields(name), "-")
	for i := range Table {
		if Table[i].Name == name {
			return i, true
		}
	}
	return 0, false
}
