package protocol

import (
	"nova/core"
	"nova/core/plan"
)

type rewriteStep uint8

const (
	rewritePublish rewriteStep = iota
	rewriteCommit
	rewriteResolve
	rewriteEnd
)

// Rewrite is the rewrite commit protocol for one output: publish, commit, resolve
// the intent. Its caller arms the sources' watchers when it resolves its own
// marker.
//
// Done: an entry names Durable, which covers the first Durable.Rows rows of the
// output; there may be rows left. Again and Broken: nothing is visible that was
// not before, as far as is known, and what was written stays under its intent.
type Rewrite struct {
	Durable plan.Durable
	Fault   Fault // Broken: why; NoFault where a row did not decode
	Source  int   // SourceGone, SourceDamaged: which

	step    rewriteStep
	out     core.Verdict
	publish Publish
	commit  Commit
	resolve Resolve
	owned   bool
}

// Step advances the rewrite of o; lease as for Commit.
func (w *Rewrite) Step(t core.Turn, e *core.Env, o *plan.Output, lease core.Mark) core.Verdict {
	for {
		switch w.step {
		case rewritePublish: // 1 to 4.
			v := w.publish.Step(t, e, o)
			if v == core.Working {
				return v
			}
			w.Durable, w.Fault, w.Source, w.owned = w.publish.Durable, w.publish.Fault, w.publish.Source, w.publish.Owned
			w.publish = Publish{}
			if w.step = rewriteCommit; v != core.Done {
				w.out, w.step = v, rewriteEnd
			}
		case rewriteCommit: // 5.
			v := w.commit.Step(t, e, o, &w.Durable, lease)
			if v == core.Working {
				return v
			}
			w.owned = w.owned && !w.commit.Shared
			w.out, w.commit, w.step = v, Commit{}, rewriteResolve
			if v != core.Done {
				w.step = rewriteEnd
			}
		case rewriteResolve: // 7.
			if !w.resolve.Step(t, e, &w.Durable, w.owned) {
				return core.Working
			}
			w.resolve, w.step = Resolve{}, rewriteEnd
		case rewriteEnd:
			return w.out
		}
	}
}
