package serve

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// Holder is the value of lease/stream/{id}: which process of which star leads the
// stream.
func Holder(e *core.Env, star string) string { return star + "\n" + e.Process }

// Open makes a star the leader of a stream on one of its epochs
// (docs/protocols.md, section 2). Before the stream goes on there, the epoch that
// its writer record names is settled until it is absorbed; by induction so was
// every epoch before that one, or a sequence number would be given out twice
// (gap 19).
//
// It always ends with Done. Reason None: the stream is led, Next is its next
// sequence number, Newest the time of its last record. Otherwise Reason says why
// not, and the lease is given back if this machine took it.
type Open struct {
	step    openStep
	call    core.Call
	tries   uint8
	took    bool
	desc    core.Row
	lease   core.Mark
	writer  core.Row
	last    format.Writer
	settle  protocol.Settlement
	walking bool   // the settlement of last's epoch is under way
	others  walks  // set by the star before every step
	settled uint64 // epoch that the writer record named and that is absorbed
	reason  Reason

	Next   uint64
	Newest core.Ms
	Lease  core.Mark
	Reason Reason
}

// walks are the epochs whose settlement is under way in other opens of the star;
// 0 is none.
type walks [openLanes]uint64

func (w *walks) has(epoch uint64) bool { return slices.Contains(w[:], epoch) }

// walks is the epoch that this open is settling.
func (o *Open) walks() uint64 {
	if o.walking {
		return o.last.Epoch
	}
	return 0
}

type openStep uint8

const (
	openDescriptor openStep = iota
	openLease
	openWhose
	openWriter
	openSettle
	openClaim
	openNewest
	openRelease
	openDone
)

// Step opens stream id for the epoch of a star. With reopen the lease must be the
// mark lease: the stream was open on an older epoch of this very star, and
// nobody else may have led it since.
func (o *Open) Step(t core.Turn, e *core.Env, star string, epoch, id uint64, reopen core.Mark) core.Verdict {
	for {
		switch o.step {
		case openDescriptor: // 1. The descriptor.
			re, ok := o.call.Await(t, core.Get(keys.Stream(id)))
			if !ok {
				return core.Working
			}
			row, _, reason, _ := descriptor(re, id)
			if reason != None {
				o.fail(reason)
				continue
			}
			o.desc = row
			o.step = openLease
			if reopen.Rev != 0 || o.took {
				o.step = openWhose
			}
		case openLease: // 2. The lease.
			re, ok := o.call.Await(t, core.Txn(
				core.Missing(keys.StreamLease(id)), core.If(o.desc.Mark),
				core.PutLeased(keys.StreamLease(id), Holder(e, star))))
			switch {
			case !ok:
				return core.Working
			case re.Outcome == core.OK:
				o.lease, o.took, o.step = core.Mark{Key: keys.StreamLease(id), Rev: re.Rev}, true, openWriter
			case retriable(re.Outcome):
				o.step = openWhose
			default:
				o.fail(Undecided)
			}
		case openWhose:
			re, ok := o.call.Await(t, core.Get(keys.StreamLease(id)))
			if !ok {
				return core.Working
			}
			there, definite := re.Found()
			switch {
			case !definite:
				o.fail(Undecided)
			case reopen.Rev != 0 && re.Row(reopen.Key).Mark != reopen:
				o.fail(NotOpen) // it went with our session: others may have led the stream
			case reopen.Rev != 0:
				o.lease, o.step = reopen, openWriter
			case there && re.Val == Holder(e, star):
				o.lease, o.took, o.step = re.Row(keys.StreamLease(id)).Mark, true, openWriter
			case there:
				o.fail(Held)
			default: // the descriptor changed, our put has not landed, or the session went
				o.took = false
				o.again()
			}
		case openWriter: // 3. Whose slots may hold records that are not absorbed?
			re, ok := o.call.Await(t, core.Get(keys.Writer(id)))
			if !ok {
				return core.Working
			}
			there, definite := re.Found()
			if !definite {
				o.fail(Undecided)
				continue
			}
			o.writer, o.last = re.Row(keys.Writer(id)), format.Writer{}
			if there {
				w, err := format.DecodeWriter(re.Val)
				if err != nil {
					o.fail(Damaged)
					continue
				}
				o.last = w
			}
			o.step = openClaim
			if there && !(o.last.Star == star && o.last.Epoch == epoch) && o.last.Epoch != o.settled {
				o.step = openSettle
			}
		case openSettle: // Epochs come from one counter: the number alone names the chain.
			if !o.walking && o.others.has(o.last.Epoch) {
				return core.Working // one walk an epoch: when that open has ended, a glance finds it done
			}
			o.walking = true
			switch o.settle.Step(t, e, o.last.Star, o.last.Epoch, false) {
			case core.Working:
				return core.Working
			case core.Done:
				o.settled, o.step = o.last.Epoch, openWriter // its end has risen
			case core.Broken:
				o.fail(Damaged)
			default:
				o.fail(Undecided)
			}
			o.settle, o.walking = protocol.Settlement{}, false
		case openClaim: // 4. The stream goes on here.
			re, ok := o.call.AwaitFunc(t, func() core.Op {
				w := o.last
				w.Star, w.Epoch = star, epoch
				return core.Txn(core.If(o.desc.Mark), core.If(o.lease), core.If(o.writer.Mark), core.Put(keys.Writer(id), w.Encode()))
			})
			switch {
			case !ok:
				return core.Working
			case re.Outcome == core.OK:
				o.step = openNewest
			case retriable(re.Outcome):
				// Which compare failed, or whether it landed, the rows say. Nothing of the
				// stream lies in this epoch yet, so the record's end stays right.
				o.again()
			default:
				o.fail(Undecided)
			}
		case openNewest: // 5. Record times do not go back over a reopening.
			if o.last.End == 0 {
				return o.opened(t, 0)
			}
			re, ok := o.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(id, o.last.End-1)
				return core.Scan(from, end, 1)
			})
			if !ok {
				return core.Working
			}
			newest := core.Ms(0)
			if re.Outcome == core.OK && len(re.Rows) > 0 {
				newest = newestOf(re.Rows[0].Val)
			}
			return o.opened(t, newest)
		case openRelease:
			re, ok := o.call.AwaitFunc(t, func() core.Op { return core.Txn(core.If(o.lease), core.Del(o.lease.Key)) })
			if !ok {
				return core.Working
			}
			_ = re // what stays behind is ours: we take it up again, and it goes with the session
			*o = Open{step: openDone, Reason: o.reason}
		case openDone:
			return core.Done
		}
	}
}

// again starts over, with the lease if it is held: every row is read anew.
func (o *Open) again() {
	if o.tries++; o.tries == verbTries {
		o.fail(Undecided)
		return
	}
	*o = Open{tries: o.tries, settled: o.settled, took: o.took, lease: o.lease}
}

func (o *Open) opened(t core.Turn, newest core.Ms) core.Verdict {
	t.Note(core.NoteOpened, 1)
	*o = Open{step: openDone, Next: o.last.End, Newest: newest, Lease: o.lease}
	return core.Done
}

func (o *Open) fail(r Reason) {
	if o.took {
		o.reason, o.step = r, openRelease
		return
	}
	*o = Open{step: openDone, Reason: r}
}

// newestOf is the time of a row's last record.
func newestOf(val string) core.Ms {
	r, err := format.DecodeRow(val)
	switch {
	case err != nil:
		return 0
	case r.Kind == format.SpanRow:
		return r.Spans[len(r.Spans)-1].Chunk.Newest
	}
	return r.Entries[len(r.Entries)-1].Newest
}
