// Package script plays golden scripts: short stories of who does what, where it
// is cut, what stands then, and how it converges, told by real machines of the
// core over the simulated world (package world). Unlike a run of package sim
// nothing is drawn: a process that is started lands its effects one by one, the
// lowest path first, until it is done or only waits, unless a rule says otherwise.
// The laws (package law) are evaluated after everything that changes the world;
// a breach that the script does not allow is an error, whatever the golden says.
//
// A file is read by github.com/cockroachdb/datadriven: a command, its lines,
// "----", and what came of it. `go test ./scenarios/golden -rewrite` writes what came of
// it anew.
//
// # Scene
//
//	scene [stores=a,b] [express=x,y] [dial=number or time ...]   begin; see dials.go
//	setup           its lines are commands; nothing of them is printed
//	log all         print reads as well (log writes: no longer)
//	tick 10m        time passes: sessions end, what was late lands, who waits wakes
//
// # Who serves
//
//	star NAME [express] [clock=10m]       start a star; its clock is so far ahead
//	create B/N [express] [age=10m]        create a stream
//	open STAR B/N                         lead it
//	append STAR B/N 3x40 [B/M 1x20 ...]   one slot: 3 records in 40 bytes, ...
//	  [dated=10m]                         the client dates them so far ahead
//	close STAR
//	trim B/N 7;  policy B/N 10m;  delete B/N [clock=10m]
//	read NAME B/N [from=7];  fetch NAME   make a read plan; use it
//	verify                                read every stream back, and compare
//
// Where an address was taken again, #2 is the stream with id 2.
//
// # Who audits
//
//	run QUEUE [as=NAME] [clock=10m]       one pass of a duty's drain
//	start QUEUE [as=NAME] [clock=10m]     the same, but nothing lands yet
//	drain QUEUE [as=NAME] [clock=10m]     a drain, until it waits: a pass, and a look at what is dated far ahead
//	round                                 one pass of each duty, in a fixed order
//	converge                              passes of all duties, and time, until nothing is left but clocks
//	still [passes=50]                     as many more passes, which must write nothing
//	decommission STAR [force] [cool-down]
//
// # Processes
//
//	go NAME [NAME ...]     go on; several take turns, an effect each
//	cut NAME [landing]     it ends; what it has in flight never lands, or lands now
//	expire NAME            its session ends, and it does not know
//
// # Rules
//
// The lines of a command are rules for the processes that it runs. Each strikes
// once, at the first effect whose text has the words of its pattern in order (#2:
// at the second), and must strike; with "all" it strikes at every one.
//
//	cut before: WORDS      the process ends, and the effect never lands
//	cut silent: WORDS      it lands, and the process ends before the reply
//	cut after: WORDS       its reply is taken, and then the process ends
//	cut late 5s: WORDS     the process ends, and the effect lands 5 s later
//	lose: WORDS            it lands; the answer is unknown (lose absent: is absent)
//	drop: WORDS            it never lands; the answer is unknown
//	late 5s: WORDS         the answer is unknown, and it lands 5 s later
//	answer OUTCOME: WORDS  it never lands, and this is the answer (refused, absent, ...)
//	hold: WORDS            it stays on its way until go; the process goes on with others
//	stop before: WORDS     the process stands still; go goes on
//	stop after: WORDS
//	always RULE            (a command) the rule holds for everybody, until: always off
//
// # The hand of an operator, or of fate
//
//	down STORE;  up STORE;  space off;  space on
//	damage row KEY         its value is garbage
//	plant OBJECT bytes=7   an object of so many bytes of garbage
//	tear OBJECT bytes=7    it loses all but so many bytes
//	take OBJECT            it goes
//	crowd N at=2h          so many reap-checks of objects that never were
//	arm OBJECT             a reap-check of it, due at once, as a killer leaves it who is cut before the kill
//	allow LAW ...          breaches of these laws are printed, and no error
//
// # What stands
//
//	show [PREFIX ...]                     rows, objects, uploads (all but what only counts and names)
//	expect rows|objects|uploads PREFIX N  so many stand
//	expect acked B/N N                    so many of its records are acknowledged
//	expect rest                           nothing is left but clocks
package script
