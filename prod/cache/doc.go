// Package cache is the object cache, at both of its ends: Tier routes an
// auditor's deletes through the instances of a cache tier, so that every cached
// copy dies with its object (specification, reclamation: Deletes route through
// the object cache), and Proxy is one such instance, nova cache.
//
// # Who owns a key
//
// A key is one instance's: Owner, rendezvous hashing over the instances'
// addresses as they were given. Readers of the tier ask the owner, deletes go
// through it. Clients that were given other addresses ask other owners, whose
// copies no delete reaches: Config.Life bounds those.
//
// # What a delete promises
//
// One that an instance answered leaves no copy there: the key is evicted before
// the delete is sent on, is not cached while that is in flight, and is evicted
// again before the answer goes out. When the instance does not answer, or the
// store's answer to it is not known, the delete goes to the store directly, which
// is safe because a delete names what never returns; a copy may then live on for
// Config.Life. It holds bytes that were right when they were read, and objects
// never change.
package cache
