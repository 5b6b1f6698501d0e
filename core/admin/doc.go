// Package admin holds the operator's verbs that are no duty: decommission
// (specification, duties: What is not a duty), and the putting back of parked
// markers. A verb is a machine like a duty;
// its host runs it until it ends, and reads its report.
package admin
