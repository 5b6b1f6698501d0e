// Package html writes a run as one page that needs nothing else: a lane for each
// actor, what happened in it, the life of each object with what watched it, and the
// verdicts of the laws. The page's data is an island of JSON; its script draws it.
package html
