package core

// NoteKind names something worth counting: the specification's metrics, the
// verdicts, and the marks by which coverage knows where a run has been. Closed.
type NoteKind uint16

// Note is one count.
type Note struct {
	Kind NoteKind
	N    int64
	Key  string
}

const (
	NoteNone NoteKind = iota
	// Verdicts of the probe: nova.auditor.probe.verdicts.
	NoteProbeStand
	NoteProbeGCWorthy
	NoteProbeReapable
	NoteProbeGone
	NoteProbeFailed
	// Reap-check.
	NoteReapConfirmArmed // an unconfirmed all-dead probe armed the confirmed marker
	NoteReapDeleted      // a confirmed all-dead probe deleted
	NoteReapGCArmed
	// Trim-check: nova.auditor.slots.trimmed.
	NoteSlotsTrimmed
	NoteTrimAdvanced
	// Settle rewrite: nova.auditor.settle.bytes, nova.auditor.settle.spans.
	NoteSettleBytes
	NoteSettleSpans
	NoteSettleOutput
	NoteTailFill
	NoteResidue
	NoteEraSkipped  // the chain was leased elsewhere
	NoteEraNotBelow // a marker not wholly below the checkpoint was skipped
	NoteMemberCovered
	NoteMemberTombstoned
	NoteMemberTrimmed // a window wholly below the watermark was retired
	NoteEmptyPlan
	// Publish and commit.
	NoteAnnounced
	NoteAdopted // the intent already stood
	NotePublishPut
	NotePublishMultipart
	NotePublishLostRace
	NotePublishTruncated
	NotePublishMidRow
	NoteCommit
	NoteCommitConflict
	NoteIntentResolved
	NoteIntentLeft
	// Orphan.
	NoteOrphanCondemned
	NoteOrphanReclaimed // reclaim: orphan reclaimed
	NoteOrphanVisible
	NoteOrphanNothing
	NoteOrphanUploadAborted
	// Settlement.
	NoteClaimed
	NoteClaimLost
	NoteFenced
	NoteCutPublished
	NoteCutAdopted
	NoteGarbageSwept
	NoteChainSettled
	NoteSettleDeferred
	NoteSettleSuperseded
	NoteSettleDeadStar
	// Serving side.
	NoteMinted
	NoteSlotCommitted
	NoteAcked
	NoteAbsorbed
	NoteAbsorbDropped // a span of a stream that no longer exists, or below its end
	NoteChainClosed
	NoteOpened
	// Drain.
	NoteDutyRun
	NoteDutyBackoff
	NoteDutyParked
	NoteForeign    // a key of no known form in a queue: left alone
	NoteFarAhead   // a marker beyond any policy: dated by a wrong clock
	NoteStraySched // a schedule row that led to nothing was removed
	NoteBacklog    // a pass is over: markers that were ripe; Key is the queue (a level, not a count)
	NoteOldest     // and by how many ms the oldest of them was overdue, its backoffs included
	// Teardown, retention, GC.
	NoteTeardownGated // nova.auditor.teardown.gated
	NoteTeardownWalked
	NoteTeardownFinal
	NoteRetentionTrimmed
	NoteRetentionRearmed
	NoteGCMoved
	NoteGCAbandoned
	NoteLost // a range is truly lost
	// Decommission.
	NoteStarGone      // the irrevocable record was written; Key is the star
	NoteStarRefused   // a star that was decommissioned tried to register; Key is the star
	NoteDenormRipened // batch markers ripened by the force-drain
	NoteMarkerMoot    // markers of chains that are settled and trimmed were resolved
	NoteChainReaped   // chain records went
	NotePrefixSwept   // objects that the sweep of a dead star's prefix deleted
	NoteDecommissioned

	NoteKinds
)

var noteNames = [NoteKinds]string{
	"none", "probe-stand", "probe-gc-worthy", "probe-reapable", "probe-gone", "probe-failed",
	"reap-confirm-armed", "reap-deleted", "reap-gc-armed", "slots-trimmed", "trim-advanced",
	"settle-bytes", "settle-spans", "settle-output", "tail-fill", "residue", "era-skipped", "era-not-below",
	"member-covered", "member-tombstoned", "member-trimmed", "empty-plan",
	"announced", "adopted", "publish-put", "publish-multipart", "publish-lost-race", "publish-truncated",
	"publish-mid-row", "commit", "commit-conflict", "intent-resolved", "intent-left",
	"orphan-condemned", "orphan-reclaimed", "orphan-visible", "orphan-nothing", "orphan-upload-aborted",
	"claimed", "claim-lost", "fenced", "cut-published", "cut-adopted", "garbage-swept", "chain-settled",
	"settle-deferred", "settle-superseded", "settle-dead-star",
	"minted", "slot-committed", "acked", "absorbed", "absorb-dropped", "chain-closed", "opened",
	"duty-run", "duty-backoff", "duty-parked",
	"foreign", "far-ahead", "stray-sched", "backlog", "oldest",
	"teardown-gated", "teardown-walked", "teardown-final", "retention-trimmed", "retention-rearmed",
	"gc-moved", "gc-abandoned", "lost",
	"star-gone", "star-refused", "denorm-ripened", "marker-moot", "chain-reaped", "prefix-swept", "decommissioned",
}

func (k NoteKind) String() string {
	if int(k) < len(noteNames) {
		return noteNames[k]
	}
	return "note?"
}
