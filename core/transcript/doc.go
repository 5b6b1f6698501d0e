// Package transcript is the form of a recording of machines: what each was told,
// turn by turn, and what it asked for. A host writes it (prod/journal), and the
// simulator steps the same machines through it again (sim/incident).
//
// A recording is segments. A segment is Magic and then frames: four bytes of
// length and four of CRC-32C, both little-endian, and the record: one byte of kind
// and its fields, numbers as varints in their shortest form, texts with their
// length. The checksum is of the length and the record. A segment begins with a
// Segment record.
//
// A machine's records are a Begin, its turns in order, and an End. It need not be
// read from its Begin: a State says how to go on in the middle. Hosts write one for
// each machine in each segment, and wherever they had to leave turns out, so that
// the oldest segments can be dropped, and a gap costs no more than itself.
//
// Replies carry rows, footers and listings. The bytes of records never enter the
// core but at the head of a tail that is read for its footer: Blank takes them out.
package transcript
