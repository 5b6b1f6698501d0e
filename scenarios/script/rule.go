package script

import (
	"fmt"
	"strconv"
	"strings"

	"nova/core"
)

// act is what a rule does.
type act uint8

const (
	cutBefore act = iota + 1
	cutSilent
	cutAfter
	cutLate
	lose
	drop
	landLate
	answer
	stopBefore
	stopAfter
	hold
)

// rule strikes the effects whose text has its words in order.
type rule struct {
	text    string
	act     act
	wait    core.Ms
	outcome core.Outcome
	words   []string
	nth     int // strikes from the nth on
	all     bool
	struck  int
	seen    int
}

// rules parses the lines of a command.
func rules(lines []string) (rs []*rule, err error) {
	for _, l := range lines {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		r, err := parseRule(l)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func parseRule(line string) (*rule, error) {
	head, words, ok := strings.Cut(line, ":")
	r := &rule{text: line, nth: 1, words: strings.Fields(words), outcome: core.Unknown}
	bad := fmt.Errorf("no rule %q", line)
	if !ok || len(r.words) == 0 {
		return nil, bad
	}
	var verb []string
	for _, w := range strings.Fields(head) {
		switch {
		case w == "all":
			r.all = true
		case w[0] == '#':
			n, err := strconv.Atoi(w[1:])
			if err != nil {
				return nil, bad
			}
			r.nth = n
		default:
			verb = append(verb, w)
		}
	}
	for k, names := range map[string]act{"cut before": cutBefore, "cut silent": cutSilent, "cut after": cutAfter, "lose": lose, "drop": drop,
		"stop before": stopBefore, "stop after": stopAfter, "hold": hold} {
		if strings.Join(verb, " ") == k {
			r.act = names
			return r, nil
		}
	}
	var err error
	switch n := len(verb); {
	case n == 3 && verb[0] == "cut" && verb[1] == "late":
		r.act = cutLate
		r.wait, err = parseSpan(verb[2])
	case n == 2 && verb[0] == "late":
		r.act = landLate
		r.wait, err = parseSpan(verb[1])
	case n == 2 && (verb[0] == "answer" || verb[0] == "lose"):
		if r.act = answer; verb[0] == "lose" {
			r.act = lose
		}
		r.outcome, ok = outcomeOf(verb[1])
		if !ok {
			return nil, bad
		}
	default:
		return nil, bad
	}
	return r, err
}

func outcomeOf(name string) (core.Outcome, bool) {
	for o := range core.Outcome(core.Outcomes) {
		if o.String() == name {
			return o, true
		}
	}
	return 0, false
}

// strike is the first rule that strikes an effect, or nil.
func strike(rs []*rule, text string) *rule {
	for _, r := range rs {
		if r.struck > 0 && !r.all || !matches(text, r.words) {
			continue
		}
		if r.seen++; r.seen < r.nth {
			continue
		}
		r.struck++
		return r
	}
	return nil
}
