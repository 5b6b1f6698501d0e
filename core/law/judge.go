package law

import (
	"nova/core"
	"nova/core/format"
)

// ChangeKind says what changed.
type ChangeKind uint8

const (
	RowPut       ChangeKind = iota + 1 // Row stands now (key, revision, value)
	RowGone                            // Row.Key stands no more
	ObjectPut                          // Object stands now
	ObjectGone                         // Object.Store, Object.Key stands no more
	UploadPut                          // Upload is unfinished
	UploadGone                         // Upload was completed or aborted
	Acknowledged                       // Ack was given to a client
	Asked                              // Ask was made by a client: nothing of it has come true yet
)

// Change is one effective write.
type Change struct {
	Kind   ChangeKind
	Row    core.Row
	Object Object
	Upload Upload
	Ack    Ack
	Ask    Ask
}

// Judge holds a world to the laws as it changes. Apply takes what changed, Check
// judges what that can affect. An object that was put is taken to keep its bytes
// for as long as it stands (law 6, which the host checks).
//
// What is judged is what can have changed: the rows of a stream that were written,
// or whose slot, object or batch marker came or went; the acknowledged chunks under
// a row that was written, or in a chain whose head was; whatever the watermark has
// passed. The rest was judged when it last changed.
//
// Facts are kept by what the laws speak of: a stream, a chain, and a group, which
// is all that stands or is said about one derived key.
type Judge struct {
	d  *core.Dials
	st *core.Stores
	ck Checksum

	scope      Scope
	hears      bool    // it is told what clients ask for
	now        core.Ms // true time; 0 while the host has not said
	spread     core.Ms // of the clocks
	generation uint64
	rows       map[string]*fact // by key
	objects    map[core.Obj]*object
	streams    map[uint64]*stream
	chains     map[chainID]*chain
	gones      map[string]value[format.Gone] // irrevocable records, by star
	groups     map[groupID]*group
	deposits   map[chunkID][]*object // slots that hold a chunk
	lives      map[lifeID]*life
	homeless   []*promise // acknowledged chunks that were found nowhere
	names      []lifeID   // of the row that is being judged

	dirtyStreams []*stream
	dirtyChains  []*chain
	dirtyGroups  []*group

	standing map[any][]Breach // by fact, object, stream, chain or group
	passing  []Breach         // of moves and deletions: said once
	report   Report
}

// NewJudge makes a judge of an empty world. The dials and stores must not change.
func NewJudge(d *core.Dials, st *core.Stores, ck Checksum) *Judge {
	return &Judge{
		d: d, st: st, ck: ck, spread: d.Skew,
		rows: map[string]*fact{}, objects: map[core.Obj]*object{}, streams: map[uint64]*stream{},
		chains: map[chainID]*chain{}, gones: map[string]value[format.Gone]{}, groups: map[groupID]*group{}, deposits: map[chunkID][]*object{},
		lives: map[lifeID]*life{}, standing: map[any][]Breach{},
	}
}

// Now sets the true time of the changes that follow. Law 4 is judged only by a
// judge that knows it.
func (j *Judge) Now(t core.Ms) {
	if t != j.now {
		j.flushStreams() // what has died until now is dated before the time moves on
		j.now = t
	}
}

// Report says on how many things each law has been evaluated so far.
func (j *Judge) Report() Report { return j.report }

// Apply takes one change, in the order in which changes took effect.
func (j *Judge) Apply(c Change) {
	switch c.Kind {
	case RowPut:
		j.putRow(c.Row)
	case RowGone:
		j.dropRow(c.Row.Key)
	case ObjectPut:
		j.putObject(c.Object)
	case ObjectGone:
		j.dropObject(core.Obj{Store: c.Object.Store, Key: c.Object.Key})
	case UploadPut, UploadGone:
		j.upload(c.Upload, c.Kind == UploadPut)
	case Asked:
		j.hear(c.Ask)
	case Acknowledged:
		s := j.stream(c.Ack.Stream)
		j.stalePromise(s.promise(c.Ack))
	}
}

// Check judges what the changes since the last call can have affected, and
// returns every breach that stands now, and what was wrong in passing.
func (j *Judge) Check() []Breach {
	j.judgeDirty()
	if len(j.standing) == 0 && len(j.passing) == 0 {
		return nil
	}
	out := j.passing
	j.passing = nil
	for _, bs := range j.standing {
		out = append(out, bs...)
	}
	return sorted(out)
}

func (j *Judge) judgeDirty() {
	for _, s := range j.dirtyStreams {
		s.dirty = false
		j.say(s, j.judgeStream(s))
		if s.empty() {
			delete(j.streams, s.id)
		}
	}
	j.dirtyStreams = j.dirtyStreams[:0]
	for _, c := range j.dirtyChains {
		c.dirty = false
		j.say(c, j.judgeChain(c))
		if c.empty() {
			delete(j.chains, c.id)
		}
	}
	j.dirtyChains = j.dirtyChains[:0]
	for _, g := range j.dirtyGroups {
		g.dirty = false
		j.say(g, j.judgeGroup(g))
		if g.empty() {
			delete(j.groups, g.id)
		}
	}
	j.dirtyGroups = j.dirtyGroups[:0]
}

// say replaces what is wrong with one thing.
func (j *Judge) say(thing any, bs []Breach) {
	if len(bs) == 0 {
		if len(j.standing) > 0 {
			delete(j.standing, thing)
		}
	} else {
		j.standing[thing] = bs
	}
}

func (j *Judge) evaluated(law int) { j.report.Evaluated[law]++ }

func (j *Judge) touchStream(s *stream) {
	if !s.dirty {
		s.dirty = true
		j.dirtyStreams = append(j.dirtyStreams, s)
	}
}

func (j *Judge) touchChain(c *chain) {
	if !c.dirty {
		c.dirty = true
		j.dirtyChains = append(j.dirtyChains, c)
	}
}

func (j *Judge) touchGroup(g *group) {
	if !g.dirty {
		g.dirty = true
		j.dirtyGroups = append(j.dirtyGroups, g)
	}
}

func (j *Judge) stream(id uint64) *stream {
	s := j.streams[id]
	if s == nil {
		s = &stream{id: id}
		j.streams[id] = s
	}
	return s
}

func (j *Judge) chain(star string, epoch uint64) *chain {
	id := chainID{star, epoch}
	c := j.chains[id]
	if c == nil {
		c = &chain{id: id}
		j.chains[id] = c
	}
	return c
}

func (j *Judge) group(id groupID) *group {
	g := j.groups[id]
	if g == nil {
		g = &group{id: id}
		j.groups[id] = g
	}
	return g
}

// value is a decoded row: not there, there, or there and undecodable (blind).
type value[T any] struct {
	here, blind bool
	v           T
}

func (x *value[T]) ok() bool { return x.here && !x.blind }

func (x *value[T]) set(v T, err error) { *x = value[T]{here: true, blind: err != nil, v: v} }

func (x *value[T]) clear() { *x = value[T]{} }

// chunkID finds a chunk in slots.
type chunkID struct{ stream, first uint64 }
