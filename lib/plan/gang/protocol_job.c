// SPDX-License-Identifier: GPL-2.0-or-later
/* The side of the initiator. */
#include "protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

static void send_request(struct gang_job *job, uint64_t now, gang_send_fn send, void *ctx)
{
	job->next = now + job->options.repeat;
	send(ctx, &(struct gang_message){ .type = GANG_REQUEST,
					  .tid = job->options.tid,
					  .threshold = job->options.threshold });
}

static void send_occupy(struct gang_job *job, gang_send_fn send, void *ctx)
{
	send(ctx, &(struct gang_message){ .type = GANG_OCCUPY,
					  .tid = job->options.tid,
					  .stamp = job->stamp,
					  .lease = job->options.lease,
					  .seats = job->seats,
					  .nseats = job->nseats });
}

/* A new stamp, which renews the leases; stamps are above 0 and never repeat. */
static void renew(struct gang_job *job, uint64_t now, gang_send_fn send, void *ctx)
{
	job->stamp = now > job->stamp ? now : job->stamp + 1;
	job->next = now + job->options.repeat;
	send_occupy(job, send, ctx);
}

void gang_job_begin(struct gang_job *job, const struct gang_job_options *options, uint64_t now,
		    gang_send_fn send, void *ctx)
{
	*job = (struct gang_job){ .options = *options,
				  .state = GANG_ASKING,
				  .lease = options->lease };
	job->deadline = now + options->collect;
	send_request(job, now, send, ctx);
}

void gang_job_end(struct gang_job *job)
{
	free(job->replies);
	free(job->seats);
	free(job->until);
	*job = (struct gang_job){ .state = GANG_ENDED };
}

void gang_job_release(struct gang_job *job, gang_send_fn send, void *ctx)
{
	if (job->state == GANG_ENDED)
		return;
	job->state = GANG_ENDED;
	/* if it is lost, the leases end */
	send(ctx, &(struct gang_message){ .type = GANG_RELEASE, .tid = job->options.tid });
}

/* Comes when no more replies are taken: another offer than one that is known is of no use. */
static void on_late_reply(struct gang_job *job, const struct gang_message *m, gang_send_fn send,
			  void *ctx)
{
	for (size_t i = 0; i < job->nreplies && job->state != GANG_ENDED; i++)
		if (job->replies[i].seat.host == m->host && job->replies[i].seat.offer == m->offer)
			return;
	send(ctx, &(struct gang_message){ .type = GANG_RELEASE,
					  .tid = job->options.tid,
					  .host = m->host,
					  .offer = m->offer,
					  .single = true });
}

static int on_reply(struct gang_job *job, const struct gang_message *m)
{
	struct gang_reply *replies;
	size_t i = 0;

	while (i < job->nreplies && job->replies[i].seat.host != m->host)
		i++;
	if (i < job->nreplies && job->replies[i].seat.offer >= m->offer)
		return 0;
	replies = plan_grow(job->replies, sizeof(*replies), i, &job->room);
	if (!replies)
		return -ENOMEM;
	job->replies = replies;
	if (i == job->nreplies)
		job->nreplies++;
	job->replies[i] = (struct gang_reply){ { m->host, m->offer }, m->utilization };
	return 0;
}

static void on_confirm(struct gang_job *job, const struct gang_message *m)
{
	uint32_t lease = m->lease > job->options.margin ? m->lease - job->options.margin : 0;
	size_t confirmed = 0;

	if (job->state != GANG_OCCUPYING && job->state != GANG_RUNNING)
		return;
	for (size_t i = 0; i < job->nseats; i++) {
		if (job->seats[i].host == m->host && job->until[i] < m->stamp + lease)
			job->until[i] = m->stamp + lease;
		if (job->seats[i].host == m->host && job->lease > m->lease)
			job->lease = m->lease;
		confirmed += job->until[i] > 0;
	}
	if (job->state == GANG_OCCUPYING && confirmed == job->nseats)
		job->state = GANG_RUNNING;
}

/* Whether a host that was confirmed may belong to a different job now. */
static bool is_over(const struct gang_job *job, uint64_t now)
{
	for (size_t i = 0; i < job->nseats; i++)
		if (job->until[i] && now >= job->until[i])
			return true;
	return false;
}

static void on_time(struct gang_job *job, uint64_t now, gang_send_fn send, void *ctx)
{
	bool occupies = job->state == GANG_OCCUPYING || job->state == GANG_RUNNING;

	if (occupies && is_over(job, now)) {
		job->lost = true;
		gang_job_release(job, send, ctx);
	} else if (job->state == GANG_ASKING && now >= job->deadline) {
		job->state = GANG_CHOOSING;
	} else if (job->state == GANG_ASKING && now >= job->next) {
		send_request(job, now, send, ctx);
	} else if (job->state == GANG_OCCUPYING && now >= job->deadline) {
		gang_job_release(job, send, ctx);
	} else if (occupies && now >= job->stamp + job->lease / 3) {
		renew(job, now, send, ctx);
	} else if (occupies && now >= job->next) {
		/* the same again, for hosts that have not received it */
		for (size_t i = 0; i < job->nseats; i++) {
			if (job->until[i] > job->stamp)
				continue;
			send_occupy(job, send, ctx);
			break;
		}
		job->next = now + job->options.repeat;
	}
}

int gang_job_step(struct gang_job *job, const struct gang_message *m, uint64_t now,
		  gang_send_fn send, void *ctx)
{
	int err = 0;

	/* first what is over, so that no late confirmation brings it back */
	on_time(job, now, send, ctx);
	if (!m || m->tid != job->options.tid)
		return 0;
	if (m->type == GANG_REPLY && job->state == GANG_ASKING)
		err = on_reply(job, m);
	else if (m->type == GANG_REPLY)
		on_late_reply(job, m, send, ctx);
	else if (m->type == GANG_CONFIRM)
		on_confirm(job, m);
	return err;
}

void gang_job_enough(struct gang_job *job)
{
	if (job->state == GANG_ASKING)
		job->state = GANG_CHOOSING;
}

int gang_job_choose(struct gang_job *job, const size_t *chosen, size_t count, uint64_t now,
		    gang_send_fn send, void *ctx)
{
	struct gang_seat *seats;
	uint64_t *until;

	if (job->state != GANG_CHOOSING)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (chosen[i] >= job->nreplies)
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (chosen[j] == chosen[i])
				return -EINVAL;
	}
	if (!count) {
		gang_job_release(job, send, ctx);
		return 0;
	}
	seats = calloc(count, sizeof(*seats));
	until = calloc(count, sizeof(*until));
	if (!seats || !until) {
		free(seats);
		free(until);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		seats[i] = job->replies[chosen[i]].seat;
	job->seats = seats;
	job->until = until;
	job->nseats = count;
	job->state = GANG_OCCUPYING;
	job->deadline = now + job->options.collect;
	renew(job, now, send, ctx);
	return 0;
}
