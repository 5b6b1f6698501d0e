package serve

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// announced is how many older unsettled epochs one mint announces anew. Each has
// a settle marker standing anyway; the announcement only brings it forward.
const announced = 32

// Mint begins a new epoch of a star: constants, head, cursors and its settle
// marker in one transaction, which compares the star's registration
// (docs/protocols.md, section 2).
//
// Done: Chain and Confirmed are set. Again: nothing definite; what may have been
// minted is superseded by the next mint. Lost is set when the star's registration
// is not ours any more.
type Mint struct {
	step    mintStep
	call    core.Call
	tries   uint8
	from    string   // where the scan of the star's chains goes on
	open    []uint64 // epochs that are not settled, the newest; immutable
	counter core.Row
	newest  core.Row
	asked   core.Ms
	tried   protocol.Chain

	Chain     protocol.Chain
	Confirmed core.Ms // when the transaction was emitted that opened the head
	Lost      bool
}

type mintStep uint8

const (
	mintScan mintStep = iota
	mintCounter
	mintNewest
	mintWrite
	mintStar
	mintDone
)

// Step mints an epoch over a bucket set, under the registration reg.
func (m *Mint) Step(t core.Turn, e *core.Env, star string, class core.Class, reg core.Mark, stores []core.Store) core.Verdict {
	for {
		switch m.step {
		case mintScan: // the star's unsettled epochs
			re, ok := m.call.AwaitFunc(t, func() core.Op {
				from, end := keys.ChainRange(star)
				return core.Scan(max(from, m.from), end, e.Dials.ScanPage)
			})
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				return m.end(core.Again)
			}
			m.open = append(m.open[:len(m.open):len(m.open)], unsettled(re.Rows)...)
			m.open = m.open[max(0, len(m.open)-announced):]
			if re.More && len(re.Rows) > 0 {
				m.from = re.Rows[len(re.Rows)-1].Key + "\x00"
				continue
			}
			m.from, m.step = "", mintCounter
		case mintCounter:
			re, ok := m.call.Await(t, core.Get(keys.CounterEpoch))
			if !ok {
				return core.Working
			}
			if _, definite := re.Found(); !definite {
				return m.end(core.Again)
			}
			m.counter, m.step = re.Row(keys.CounterEpoch), mintNewest
		case mintNewest:
			re, ok := m.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Mint(star, class)) })
			if !ok {
				return core.Working
			}
			if _, definite := re.Found(); !definite {
				return m.end(core.Again)
			}
			m.newest, m.step = re.Row(keys.Mint(star, class)), mintWrite
		case mintWrite:
			if !m.call.Sent() {
				last := uint64(0)
				if m.counter.Rev != 0 {
					n, err := format.DecodeNumber(m.counter.Val)
					if err != nil {
						return m.end(core.Broken)
					}
					last = n
				}
				m.asked = t.Now
				m.tried = protocol.Chain{Star: star, Epoch: last + 1, Const: format.ChainConst{
					Class: class, Stores: stores, Pipeline: uint32(e.Dials.Pipeline), Born: t.Now,
				}}
			}
			re, ok := m.call.AwaitFunc(t, func() core.Op { return core.Txn(m.writes(t, e, reg)...) })
			if !ok {
				return core.Working
			}
			switch re.Outcome {
			case core.OK:
				t.NoteOf(core.NoteMinted, 1, star)
				*m = Mint{step: mintDone, Chain: m.tried, Confirmed: m.asked}
				return core.Done
			case core.Conflict, core.Unknown:
				// An epoch that was minted without our knowing is an older one to the next
				// attempt: it has its marker, and is superseded.
				m.step = mintStar
			default:
				return m.end(core.Again)
			}
		case mintStar: // Are we still who we were?
			re, ok := m.call.Await(t, core.Get(reg.Key))
			if !ok {
				return core.Working
			}
			m.tries++
			switch {
			case re.Outcome == core.OK && re.Rev == reg.Rev:
				if m.tries == verbTries {
					return m.end(core.Again)
				}
				*m = Mint{tries: m.tries}
			case re.Outcome == core.OK || re.Outcome == core.Absent:
				*m = Mint{Lost: true}
				return core.Again
			default:
				return m.end(core.Again)
			}
		case mintDone:
			return core.Done
		}
	}
}

func (m *Mint) end(v core.Verdict) core.Verdict {
	*m = Mint{}
	return v
}

func (m *Mint) writes(t core.Turn, e *core.Env, reg core.Mark) []core.Write {
	star, epoch, c := m.tried.Star, m.tried.Epoch, m.tried.Const
	settle := func(epoch uint64, at core.Ms) core.Write {
		shard := keys.ShardOfChain(star, epoch, e.Dials.Shards)
		return core.Put(keys.DueSettle(shard, at, star, epoch), format.SettleMark{}.Encode())
	}
	ws := []core.Write{
		core.If(reg), core.Missing(keys.Gone(star)), core.If(m.counter.Mark), core.If(m.newest.Mark),
		core.Put(m.counter.Key, format.EncodeNumber(epoch)),
		core.Put(m.newest.Key, format.EncodeNumber(epoch)),
		core.Put(keys.ChainConst(star, epoch), c.Encode()),
		core.Put(keys.ChainHead(star, epoch), format.ChainHead{State: format.ChainOpen}.Encode()),
		core.Put(keys.ChainTrim(star, epoch), format.ChainTrim{}.Encode()),
		settle(epoch, t.Now+e.Dials.LiveHeadProbe),
	}
	for _, old := range m.open {
		ws = append(ws, settle(old, t.Now))
	}
	return ws
}

// unsettled is the epochs of a page of chain rows that are not settled. A row
// that does not parse or decode is somebody else's to report.
func unsettled(rows []core.Row) (epochs []uint64) {
	for _, r := range rows {
		_, epoch, part, err := keys.ParseChain(r.Key)
		if err != nil || part != keys.PartHead {
			continue
		}
		h, err := format.DecodeChainHead(r.Val)
		if err == nil && h.State != format.ChainSettled && !slices.Contains(epochs, epoch) {
			epochs = append(epochs, epoch)
		}
	}
	return epochs
}

// storesFor is the bucket set of a new epoch: the stores of the class, in order,
// less those that failed a short while ago; at least one, at most MaxStores.
func storesFor(e *core.Env, class core.Class, failed *[maxFailed]core.Ms, now core.Ms) []core.Store {
	var set []core.Store
	oldest := 0
	of := e.Stores.Of[class]
	for i, s := range of {
		if i >= maxFailed {
			break
		}
		if failed[i] < failed[oldest] {
			oldest = i
		}
		if failed[i] != 0 && now-failed[i] < e.Dials.LiveHeadProbe && now >= failed[i] {
			continue
		}
		if len(set) < format.MaxStores {
			set = append(set, s)
		}
	}
	if len(set) == 0 {
		set = append(set, of[oldest]) // all of them failed: the one that has had the longest to recover
	}
	return set
}

// maxFailed is how many stores of a class a star keeps an eye on.
const maxFailed = 8
