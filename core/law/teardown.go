package law

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// marker is one marker of a stream's duties, standing or parked.
type marker struct {
	f         *fact
	due       keys.Due
	parked    bool
	blind     bool
	deletedAt core.Ms // of a teardown
	policy    uint32  // of a retention
	attempts  format.Attempts
}

// readMarker reads a marker of a stream's duty, or what is parked of one.
func (f *fact) readMarker(d *keys.Due, parked bool) marker {
	m := marker{f: f, due: *d, parked: parked}
	val := f.row.Val
	var err error
	if parked {
		p, _ := format.DecodeParked(val)
		val = p.Value
	}
	if d.Queue == keys.Teardown {
		var v format.TeardownMark
		v, err = format.DecodeTeardownMark(val)
		m.deletedAt, m.attempts = v.DeletedAt, v.Attempts
	} else {
		var v format.RetentionMark
		v, err = format.DecodeRetentionMark(val)
		m.policy, m.attempts = v.Policy, v.Attempts
	}
	if m.blind = err != nil; !parked {
		f.check(err)
	}
	return m
}

// grave is how far a stream's teardown was seen to have come. Times are 0 where they
// are not known: the judge has no time, or did not see it.
type grave struct {
	walked core.Ms // the last that the first walk can have done: a row that went, or the tombstone itself
	final  bool    // the final walk is armed
}

// dying follows a stream's descriptor.
func (j *Judge) dying(was, is core.Row) {
	id, err := keys.ParseStream(is.Key)
	if err != nil || was.Rev == 0 {
		return
	}
	a, err := format.DecodeStream(was.Val)
	s := j.stream(id)
	switch {
	case err != nil:
	case is.Rev != 0:
		if b, err := format.DecodeStream(is.Val); err == nil && !a.Deleted && b.Deleted {
			s.grave = grave{walked: j.now}
		}
	case a.Deleted && j.now != 0 && s.grave.walked != 0:
		j.evaluated(8)
		switch {
		case !s.grave.final:
			j.passing = append(j.passing, Breach{8, is.Key, "the tombstone went, and no final walk was ever armed"})
		case j.now < s.grave.walked+j.d.Quiesce-j.d.Skew:
			j.passing = append(j.passing, Breach{8, is.Key, fmt.Sprintf("the tombstone went %d ms after the first walk, and the quiesce is %d ms", j.now-s.grave.walked, j.d.Quiesce)})
		}
		s.grave = grave{}
	}
}

// walked notes that a row of a stream that is deleted went.
func (j *Judge) walked(s *stream) {
	if s.desc.ok() && s.desc.v.Deleted && !s.grave.final {
		s.grave.walked = j.now
	}
}

// armed judges a marker as it is written: a final walk comes a quiesce after the
// first, whoever dates it; retention comes back once a policy at most while no row
// of the stream stands.
func (j *Judge) armed(s *stream, m *marker) {
	switch {
	case m.parked:
		s.clock = nil // it comes back when an operator says so
	case m.blind:
	case m.due.Queue == keys.Teardown && m.due.Final:
		if j.now != 0 && s.grave.walked != 0 && !s.grave.final {
			j.evaluated(8)
			if m.due.At < s.grave.walked+j.d.Quiesce-j.d.Skew {
				j.passing = append(j.passing, Breach{8, m.f.row.Key, fmt.Sprintf("the final walk is due %d ms after the first, and the quiesce is %d ms", m.due.At-s.grave.walked, j.d.Quiesce)})
			}
		}
		s.grave.final = true
	case m.due.Queue == keys.Retention:
		j.ticked(s, m)
	}
}

// ticked judges that a retention marker that came back after a pass does not come
// back at once: where nothing is covered by a ref, one policy later.
func (j *Judge) ticked(s *stream, m *marker) {
	last := s.clock
	s.clock = m
	rowless := !s.written && len(s.refs) == 0
	s.written = len(s.refs) > 0
	if last == nil || m.attempts > 0 || last.policy != m.policy || !s.live() || j.now == 0 || last.due.At > j.now+j.d.Skew {
		return
	}
	j.evaluated(8)
	if rowless && m.due.At < last.due.At+s.desc.v.MaxAge {
		j.passing = append(j.passing, Breach{8, m.f.row.Key, fmt.Sprintf("retention was due at %d, and is due again %d ms later; the stream has no rows, and its policy is %d ms", last.due.At, m.due.At-last.due.At, s.desc.v.MaxAge)})
	}
}

// judgeMarkers judges law 8 on a stream's markers as they stand: the deletion time
// travels with every teardown marker, and a policy has one clock.
func (j *Judge) judgeMarkers(s *stream, bad []Breach) []Breach {
	for i := range s.markers {
		m := &s.markers[i]
		switch {
		case m.blind:
		case m.due.Queue == keys.Teardown:
			if !s.desc.ok() || !s.desc.v.Deleted {
				continue
			}
			j.evaluated(8)
			if m.deletedAt != s.desc.v.DeletedAt {
				bad = append(bad, Breach{8, m.f.row.Key, fmt.Sprintf("it says that the stream was deleted at %d, and the tombstone says %d", m.deletedAt, s.desc.v.DeletedAt)})
			}
		default:
			j.evaluated(8)
			for k := range s.markers[:i] {
				if o := &s.markers[k]; !o.blind && o.due.Queue == keys.Retention && o.policy == m.policy {
					bad = append(bad, Breach{8, max(o.f.row.Key, m.f.row.Key), "another retention marker stands for the same policy of the stream"})
				}
			}
		}
	}
	return bad
}

// judgeServed judges law 8 on the rows that serve a stream live: they go with its
// teardown, and its address as it is deleted.
func (j *Judge) judgeServed(s *stream, bad []Breach) []Breach {
	if s.desc.blind {
		return bad
	}
	if !s.desc.here {
		for _, x := range [...]struct {
			here bool
			key  string
		}{{s.trim.here, keys.Trim(s.id)}, {s.writer.here, keys.Writer(s.id)}, {s.producer, keys.Producer(s.id)}} {
			if x.here {
				j.evaluated(8)
				bad = append(bad, Breach{8, x.key, "it served a stream live, and neither descriptor nor tombstone stands"})
			}
		}
	}
	for _, n := range s.names {
		j.evaluated(8)
		switch {
		case !s.live():
			bad = append(bad, Breach{8, n.row.Key, fmt.Sprintf("the address leads to stream %d, which does not live", s.id)})
		case n.row.Key != keys.Name(s.desc.v.Bucket, s.desc.v.Name):
			bad = append(bad, Breach{8, n.row.Key, fmt.Sprintf("the address leads to stream %d, which has another", s.id)})
		}
	}
	if s.trim.ok() && s.writer.ok() {
		j.evaluated(5)
		if s.trim.v > s.writer.v.End {
			bad = append(bad, Breach{5, keys.Trim(s.id), fmt.Sprintf("the watermark %d is above the end %d of what is absorbed", s.trim.v, s.writer.v.End)})
		}
	}
	return bad
}
