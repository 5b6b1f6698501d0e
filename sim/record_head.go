package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nova/core"
	"nova/faults"
)

// facts are the lines of a record's head that each stand in it once: without one it
// would be a record of another run, with what is drawn in its place.
var facts = [...]string{"seed", "plan", "commit", "go", "effects", "instant", "sum", "dials", "world", "choices"}

// once refuses a fact that is told a second time.
func once(seen map[string]bool, key string) error {
	if seen[key] && key != "actor" {
		return fmt.Errorf("there is a second line %s", clipped(key))
	}
	seen[key] = true
	return nil
}

// complete refuses a head in which a fact is missing.
func complete(seen map[string]bool) error {
	for _, f := range facts {
		if !seen[f] {
			return fmt.Errorf("it has no line %q", f)
		}
	}
	return nil
}

// head reads one fact of the head.
func (r *Record) head(key, val string) (err error) {
	switch key {
	case "seed":
		r.Seed, err = strconv.ParseUint(val, 10, 64)
	case "plan":
		r.Plan, err = faults.Parse(val)
	case "planted":
		r.Planted = val
	case "commit":
		r.Commit = strings.TrimPrefix(val, "-")
	case "go":
		r.Go = strings.TrimPrefix(val, "-")
	case "effects":
		if r.Effects, err = strconv.Atoi(val); err == nil && (r.Effects < 0 || r.Effects > 1<<24) {
			err = errors.New("so many effects are no run")
		}
	case "instant":
		r.Instant, err = strconv.ParseBool(val)
	case "sum":
		r.Sum, err = strconv.ParseUint(val, 16, 64)
	case "breach":
		b := &Breach{}
		var law int
		var at int64
		if _, err = fmt.Sscanf(val, "law=%d at=%d %q", &law, &at, &b.What); err == nil && (law < 0 || law >= int(numLaws)) {
			err = fmt.Errorf("there is no law %d", law)
		}
		b.Law, b.At = Law(law), Epoch+core.Ms(at)
		r.Breach = b
	case "dials":
		d := json.NewDecoder(strings.NewReader(val))
		d.DisallowUnknownFields()
		err = d.Decode(&r.Dials)
	case "world":
		var out string
		if _, err = fmt.Sscanf(val, "repeat-complete=%s late-parts=%t", &out, &r.Dialect.LateParts); err != nil {
			return err
		}
		for _, o := range []core.Outcome{core.Absent, core.Exists, core.OK} {
			if o.String() == out {
				r.Dialect.RepeatComplete = o
				return nil
			}
		}
		err = fmt.Errorf("no store answers %s", clipped(out))
	case "actor":
		var c Cast
		var class int
		if _, err = fmt.Sscanf(val, "%s %s class=%d", &c.Name, &c.Role, &class); err != nil {
			return err
		}
		if c.Name, err = word(c.Name); err == nil && (class < 0 || class >= int(core.Classes)) {
			err = fmt.Errorf("there is no class %d", class)
		}
		c.Role, c.Class = strings.TrimPrefix(c.Role, "-"), core.Class(class)
		r.Actors = append(r.Actors, c)
	default:
		err = fmt.Errorf("%s is no fact of a record", clipped(key))
	}
	return err
}
