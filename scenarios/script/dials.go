package script

import (
	"fmt"
	"strconv"
	"strings"

	"nova/core"
)

// base is the dials of a scene: the specification's times, and sizes so small that
// a part has five hundred bytes.
func base() core.Dials {
	d := core.Spec()
	d.Shards = 1
	d.PartMin, d.PartMax, d.OutputCap = 500, 2000, 4000
	d.SizeTrigger, d.WarmSet, d.GCMinDead = 1000, 4000, 50
	return d
}

// dials are the scene's, with what its arguments change: by the words of the
// daemon's flags, or close to them.
func dials(args []string) (core.Dials, error) {
	d := base()
	for _, a := range args {
		k, v, ok := strings.Cut(a, "=")
		if k == "stores" || k == "express" {
			continue
		}
		if !ok || !set(&d, k, v) {
			return d, fmt.Errorf("no dial %q", a)
		}
	}
	return d, d.Check()
}

func set(d *core.Dials, k, v string) bool {
	if t, ok := map[string]*core.Ms{
		"read-grace": &d.ReadGrace, "orphan-grace": &d.OrphanGrace, "linger": &d.Linger[0], "age-cap": &d.AgeCap[0],
		"job-deadline": &d.JobDeadline,
	}[k]; ok {
		x, err := parseSpan(v)
		*t = x
		return err == nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return false
	}
	if b, ok := map[string]*int64{
		"part-min": &d.PartMin, "part-max": &d.PartMax, "output-cap": &d.OutputCap, "trigger": &d.SizeTrigger, "gc-min": &d.GCMinDead,
	}[k]; ok {
		*b = int64(n)
		return true
	}
	if c, ok := map[string]*int{
		"markers-per-era": &d.MarkersPerEra, "member-parallel": &d.MemberWidth, "member-plan": &d.MemberPlan, "entries": &d.EntriesPerRow,
		"spans": &d.SpansPerRow, "pipeline": &d.Pipeline, "batch": &d.SettleBatch, "page": &d.ScanPage, "shards": &d.Shards,
		"delete-batch": &d.DeleteBatch, "width": &d.DrainWidth, "part-parallel": &d.PartWidth, "park-after": &d.ParkAfter, "streams-per-txn": &d.StreamsPerTxn,
	}[k]; ok {
		*c = n
		return true
	}
	return false
}
