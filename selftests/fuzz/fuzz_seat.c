// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts that gangs occupy, and initiators that occupy them, over a network that loses, repeats and delays their
 * messages, and on which strangers say anything in names that are theirs: no host is two gangs' at a time, and
 * none is kept by a gang that has ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "selftests/unit/gang_look.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOSTS 3
#define JOBS 3
#define MAIL 64
#define SEATS 4
#define OFFER 300
#define LEASE 1000
#define STRANGER 1000 /* gangs from here on are strangers' */

struct letter {
	struct gang_message m;
	struct gang_seat seats[SEATS];
};

static struct play {
	struct gang_host hosts[HOSTS];
	struct gang_job jobs[JOBS];
	struct letter mail[MAIL];
	size_t n;
	uint64_t now, tids;
} play;

static void post(void *ctx, const struct gang_message *m)
{
	struct letter *l = &play.mail[play.n];

	must(m->nseats <= HOSTS);
	if (play.n == MAIL)
		return; /* lost */
	l->m = *m;
	for (size_t i = 0; i < m->nseats; i++)
		l->seats[i] = m->seats[i];
	play.n++;
}

static void arrive(struct letter *l)
{
	l->m.seats = l->seats;
	if (l->m.type == GANG_REPLY || l->m.type == GANG_CONFIRM) {
		for (int i = 0; i < JOBS; i++)
			must(gang_job_step(&play.jobs[i], &l->m, play.now, post, NULL) != -EINVAL);
		return;
	}
	for (int i = 0; i < HOSTS; i++)
		gang_host_step(&play.hosts[i], &l->m, (double)i / HOSTS, play.now, post, NULL);
}

static void begin(struct gang_job *job, struct input *in)
{
	const uint8_t how = input_byte(in);

	gang_job_begin(job,
		       &(struct gang_job_options){ .tid = ++play.tids,
						   .threshold = how & 1 ? 0.5 : 2,
						   .collect = 200,
						   .repeat = 50,
						   .lease = LEASE >> (how >> 1 & 3),
						   .margin = how >> 3 & 15 },
		       play.now, post, NULL);
}

static void choose(struct gang_job *job, struct input *in)
{
	size_t chosen[HOSTS + 1], n = input_byte(in) & 3;
	int err;

	for (size_t i = 0; i < n; i++)
		chosen[i] = input_byte(in) & 3;
	err = gang_job_choose(job, chosen, n, play.now, post, NULL);
	must(!err || err == -EINVAL);
}

/* What a stranger says has a gang of its own. */
static void lie(struct input *in)
{
	struct letter l = { .m = { .type = input_byte(in) % (GANG_RELEASE + 1),
				   .tid = STRANGER + (input_byte(in) & 3) } };

	l.m.single = input_byte(in) & 1;
	l.m.host = input_byte(in) & 3;
	l.m.threshold = input_byte(in) / 64.0;
	l.m.offer = input_byte(in);
	l.m.stamp = input_byte(in) == 255 ? UINT64_MAX : play.now + input_byte(in);
	l.m.lease = (uint32_t)input_byte(in) << 24;
	l.m.lease |= input_byte(in);
	l.m.nseats = input_byte(in) % (SEATS + 1);
	for (size_t i = 0; i < l.m.nseats; i++) {
		l.seats[i].host = input_byte(in) & 3;
		l.seats[i].offer = input_byte(in);
	}
	arrive(&l);
}

static void step(struct input *in)
{
	const uint8_t what = input_byte(in), which = input_byte(in);
	struct gang_job *job = &play.jobs[which % JOBS];
	struct letter l;

	switch (what % 9) {
	case 0:
	case 1:
	case 2: /* a message, which may come again */
		if (!play.n)
			break;
		l = play.mail[which % play.n];
		if (!(what & 128))
			play.mail[which % play.n] = play.mail[play.n - 1];
		play.n -= !(what & 128);
		arrive(&l);
		break;
	case 3:
		play.now += which;
		break;
	case 4: /* one initiator looks at its clock */
		gang_job_step(job, NULL, play.now, post, NULL);
		break;
	case 5:
		gang_job_enough(job);
		choose(job, in);
		break;
	case 6:
		gang_job_release(job, post, NULL);
		must(job->state == GANG_ENDED);
		break;
	case 7: /* it dies, and another one begins */
		gang_job_end(job);
		begin(job, in);
		break;
	default:
		lie(in);
	}
}

static void check(void)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		const struct gang_host *h = &play.hosts[host];
		unsigned int has = 0;

		for (int i = 0; i < JOBS; i++) {
			const bool mine = gang_job_has(&play.jobs[i], host, play.now);

			has += mine;
			/* What it may use, the host keeps for it. */
			must(!mine || (h->state == GANG_OCCUPIED &&
				       h->tid == play.jobs[i].options.tid && h->until > play.now));
		}
		must(has <= 1);
		must((h->state == GANG_FREE) == !h->tid);
		must(h->state != GANG_OCCUPIED || h->until <= play.now + LEASE);
		must(h->state != GANG_OFFERED || h->until <= play.now + OFFER);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	play.n = play.tids = 0;
	play.now = 1;
	for (uint32_t i = 0; i < HOSTS; i++)
		gang_host_begin(&play.hosts[i], i, OFFER, LEASE);
	for (int i = 0; i < JOBS; i++)
		begin(&play.jobs[i], &in);
	while (in.left) {
		step(&in);
		check();
	}
	/* Everybody dies: all is free in the end. */
	for (int i = 0; i < JOBS; i++)
		gang_job_end(&play.jobs[i]);
	play.now += LEASE;
	for (int i = 0; i < HOSTS; i++) {
		gang_host_step(&play.hosts[i], NULL, 0, play.now, post, NULL);
		must(play.hosts[i].state == GANG_FREE);
	}
	return 0;
}
