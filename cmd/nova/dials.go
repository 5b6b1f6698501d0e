package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"nova/core"
)

// dialFlags are the daemon's dials that have a flag; the names and defaults are
// the specification's. What it fixes as a constant has none (core.Spec).
type dialFlags struct {
	readGrace, orphanGrace        time.Duration
	linger, expressLinger         time.Duration
	ageCap, expressAgeCap         time.Duration
	markersPerEra, memberParallel int
	outputCapMiB                  int64
	caches                        []string
}

// register adds the flags to a command's set.
func (d *dialFlags) register(f *pflag.FlagSet) {
	f.DurationVar(&d.readGrace, "auditor-read-grace", 10*time.Minute, "how long dead data stays readable before it may be deleted")
	f.DurationVar(&d.orphanGrace, "auditor-orphan-grace", time.Hour, "how old a write intent is before the orphan duty judges it; above the slowest publish-to-commit delay")
	f.IntVar(&d.markersPerEra, "auditor-markers-per-era", 1, "batch markers that one settle job takes on")
	f.IntVar(&d.memberParallel, "auditor-member-parallel", 8, "streams that one settle job rewrites abreast")
	f.Int64Var(&d.outputCapMiB, "denorm-output-cap-mib", 256, "size of a settled object, at most, in MiB")
	f.DurationVar(&d.linger, "denorm-linger", 5*time.Minute, "how long a batch waits for company once one of its streams has reached the size trigger")
	f.DurationVar(&d.expressLinger, "express-denorm-linger", 5*time.Minute, "the same for chains of the express class")
	f.DurationVar(&d.ageCap, "denorm-age-cap", 24*time.Hour, "how long a batch stays on its chain at most")
	f.DurationVar(&d.expressAgeCap, "express-denorm-age-cap", time.Hour, "the same for chains of the express class")
	f.StringSliceVar(&d.caches, "object-cache-instances", nil, "addresses of the object caches (nova cache) that deletes go through, the same list everywhere (comma-separated; none: no cache)")
}

// dials is the process's dials, or why the flags break a contract.
func (d *dialFlags) dials() (core.Dials, error) {
	v := core.Spec()
	for _, f := range []struct {
		name string
		from time.Duration
		to   *core.Ms
	}{
		{"auditor-read-grace", d.readGrace, &v.ReadGrace},
		{"auditor-orphan-grace", d.orphanGrace, &v.OrphanGrace},
		{"denorm-linger", d.linger, &v.Linger[core.Standard]},
		{"express-denorm-linger", d.expressLinger, &v.Linger[core.Express]},
		{"denorm-age-cap", d.ageCap, &v.AgeCap[core.Standard]},
		{"express-denorm-age-cap", d.expressAgeCap, &v.AgeCap[core.Express]},
	} {
		if f.from < time.Millisecond {
			return v, fmt.Errorf("--%s is %v: give a time of at least 1ms", f.name, f.from)
		}
		*f.to = core.Ms(f.from.Milliseconds())
	}
	for _, f := range []struct {
		name        string
		linger, cap time.Duration
	}{{"denorm", d.linger, d.ageCap}, {"express-denorm", d.expressLinger, d.expressAgeCap}} {
		if f.linger > f.cap {
			return v, fmt.Errorf("--%s-linger is %v and --%s-age-cap %v: the linger must not exceed the cap, or no batch ever settles early", f.name, f.linger, f.name, f.cap)
		}
	}
	if d.outputCapMiB < 1 || d.outputCapMiB > 1<<30 {
		return v, fmt.Errorf("--denorm-output-cap-mib is %d: give a size of 1 MiB or more", d.outputCapMiB)
	}
	v.OutputCap = d.outputCapMiB << 20
	v.MarkersPerEra, v.MemberWidth = d.markersPerEra, d.memberParallel
	if err := v.Check(); err != nil {
		return v, fmt.Errorf("these dials break a contract: %w", err)
	}
	return v, nil
}
