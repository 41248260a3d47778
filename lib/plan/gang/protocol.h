/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file protocol.h
 * How an initiator gets the hosts of a gang (paper 1, section 2), as state machines of a host and
 * of an initiator: step(message or time) -> messages. Pure: times are milliseconds of the
 * driver's clock, hosts are numbers of the driver's.
 *
 *   initiator                          host
 *   REQUEST(tid, threshold)      ->    free and less used than the threshold: offered to tid
 *                                <-    REPLY(tid, host, utilization, offer)
 *   OCCUPY(tid, stamp, seats)    ->    offered to tid: occupied if listed, free if not
 *                                <-    CONFIRM(tid, host, stamp, lease)
 *   RELEASE(tid)                 ->    tid's: free
 *
 * In the paper a host whose message is lost, or whose initiator dies, is never free again, and an
 * initiator does not know whether its OCCUPY arrived. So here
 *   - an offer and an occupation have a lease, which OCCUPY renews;
 *   - OCCUPY names the offer it accepts, so that a late one does not take a newer offer;
 *   - it has a stamp, the initiator's time: only a newer stamp renews, so neither repeated nor late
 *     messages extend a lease;
 *   - CONFIRM returns stamp and lease: the initiator has the host until stamp + lease on its own
 *     clock. The host counts from a later moment, so no other initiator can have it before.
 * The clocks need not agree, but must run at the same rate; `margin` allows for small differences.
 */
#ifndef PLAN_GANG_PROTOCOL_H
#define PLAN_GANG_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gang_message_type { GANG_REQUEST, GANG_REPLY, GANG_OCCUPY, GANG_CONFIRM, GANG_RELEASE };

/** A host and one of its offers. */
struct gang_seat {
	uint32_t host;
	uint64_t offer;
};

/** All but REPLY and CONFIRM go to every host (or to `host` alone, if `single`). */
struct gang_message {
	enum gang_message_type type;
	uint64_t tid; /**< of the job, never used again; not 0 */
	uint32_t host; /**< REPLY, CONFIRM: from; else to, if `single` */
	bool single;
	double threshold; /**< REQUEST */
	double utilization; /**< REPLY */
	uint64_t offer; /**< REPLY; RELEASE, if `single` */
	uint64_t stamp; /**< OCCUPY, CONFIRM */
	uint32_t lease; /**< OCCUPY: wished; CONFIRM: given */
	const struct gang_seat *seats; /**< OCCUPY; good until the sender's next step */
	size_t nseats;
};

typedef void (*gang_send_fn)(void *ctx, const struct gang_message *message);

/* ---- host ---- */

enum gang_host_state { GANG_FREE, GANG_OFFERED, GANG_OCCUPIED };

struct gang_host {
	uint32_t number;
	uint32_t offer_lease; /**< how long an offer stands */
	uint32_t lease_most; /**< however long an initiator wishes */
	enum gang_host_state state;
	uint64_t tid; /**< the paper's id; 0: free */
	uint64_t offer, stamp, until;
	uint32_t lease;
	uint64_t adopts_until;
};

/** A free host with this number. */
void gang_host_begin(struct gang_host *host, uint32_t number, uint32_t offer_lease,
		     uint32_t lease_most);
/** This host has just started again, and may have been occupied before: until then an OCCUPY that
 *  lists it takes it, if it is free. Offers must have greater numbers than those of before. */
void gang_host_adopts(struct gang_host *host, uint64_t until);
/** A message has arrived, or (NULL) time has passed. Sends at most one message. */
void gang_host_step(struct gang_host *host, const struct gang_message *message, double utilization,
		    uint64_t now, gang_send_fn send, void *ctx);

/* ---- initiator ---- */

enum gang_job_state {
	GANG_ASKING, /**< replies come in */
	GANG_CHOOSING, /**< the driver chooses: gang_job_choose() */
	GANG_OCCUPYING, /**< confirmations come in */
	GANG_RUNNING, /**< all hosts are there: the job may run */
	GANG_ENDED, /**< released, given up, or a host was lost: `lost` */
};

struct gang_reply {
	struct gang_seat seat;
	double utilization;
};

struct gang_job_options {
	uint64_t tid;
	double threshold;
	uint32_t collect; /**< ms to wait for replies, and then for confirmations */
	uint32_t repeat; /**< ms after which what was not answered is sent again */
	/** wished; renewed after a third of it, or of the shortest that was given */
	uint32_t lease;
	uint32_t margin; /**< ms before its end from which a lease is not trusted */
};

struct gang_job {
	struct gang_job_options options;
	enum gang_job_state state;
	bool lost; /**< why it ended: a host's lease did, so the job must not go on */
	uint64_t deadline, next;
	struct gang_reply *replies;
	size_t nreplies, room;
	struct gang_seat *seats;
	uint64_t *until; /**< of each seat, 0: not confirmed */
	size_t nseats;
	uint64_t stamp;
	uint32_t lease; /**< the shortest that was given, or what is wished */
};

/** Sends the first REQUEST. gang_job_end() frees. */
void gang_job_begin(struct gang_job *job, const struct gang_job_options *options, uint64_t now,
		    gang_send_fn send, void *ctx);
/** A message has arrived, or (NULL) time has passed. 0, or -ENOMEM: a reply was dropped. */
int gang_job_step(struct gang_job *job, const struct gang_message *message, uint64_t now,
		  gang_send_fn send, void *ctx);
/** All hosts have been asked and those that reply have done so: the driver chooses now. */
void gang_job_enough(struct gang_job *job);
/** Takes these replies (indices); none: gives up. 0, -EINVAL (not choosing, no such reply, or one
 *  twice) or -ENOMEM; after an error nothing has changed. */
int gang_job_choose(struct gang_job *job, const size_t *chosen, size_t count, uint64_t now,
		    gang_send_fn send, void *ctx);
/** Releases all hosts: the job has ended or is cancelled. */
void gang_job_release(struct gang_job *job, gang_send_fn send, void *ctx);
void gang_job_end(struct gang_job *job);

#endif
