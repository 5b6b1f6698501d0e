package law

import "nova/core"

// Live reports whether a live ref names an object that stands, as of the last
// Check. Callers that follow deaths on their own use it.
func (j *Judge) Live(at core.Obj) bool {
	o := j.objects[at]
	if o == nil {
		return false
	}
	l := j.lives[o.life()]
	return l != nil && l.refs > 0
}
