// SPDX-License-Identifier: GPL-2.0-or-later
/* Getting the hosts of a gang: messages lost, repeated, late; initiators that die. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gang_look.h"
#include "random.h"

#define OFFER 300u
#define LEASE 1000u

struct outbox {
	struct gang_message list[64];
	struct gang_seat seats[64][8];
	size_t n;
};

static void put(void *ctx, const struct gang_message *message)
{
	struct outbox *out = ctx;

	assert_true(out->n < 64 && message->nseats <= 8);
	out->list[out->n] = *message;
	if (message->nseats)
		memcpy(out->seats[out->n], message->seats,
		       message->nseats * sizeof(message->seats[0]));
	out->list[out->n].seats = out->seats[out->n];
	out->n++;
}

static struct outbox box;

/* What the host answers; NULL: nothing. */
static const struct gang_message *tell(struct gang_host *host, const struct gang_message *message,
				       double utilization, uint64_t now)
{
	box.n = 0;
	gang_host_step(host, message, utilization, now, put, &box);
	assert_true(box.n <= 1);
	return box.n ? &box.list[0] : NULL;
}

static const struct gang_message *request(struct gang_host *host, uint64_t tid, uint64_t now)
{
	return tell(host,
		    &(struct gang_message){ .type = GANG_REQUEST, .tid = tid, .threshold = 0.5 },
		    0.1, now);
}

static const struct gang_message *occupy(struct gang_host *host, uint64_t tid, uint64_t offer,
					 uint64_t stamp, uint64_t now)
{
	struct gang_seat seat = { 3, offer };

	return tell(host,
		    &(struct gang_message){ .type = GANG_OCCUPY,
					    .tid = tid,
					    .stamp = stamp,
					    .lease = LEASE,
					    .seats = &seat,
					    .nseats = 1 },
		    0.9, now);
}

static void test_host(void **state)
{
	struct gang_message busy = { .type = GANG_REQUEST, .tid = 9, .threshold = 0.5 };
	struct gang_message release = { .type = GANG_RELEASE, .tid = 9 };
	const struct gang_message *m;
	struct gang_host host;

	gang_host_begin(&host, 3, OFFER, 2 * LEASE);
	assert_null(tell(&host, &busy, 0.5, 0)); /* at the threshold, not below */
	assert_int_equal(host.state, GANG_FREE);
	m = request(&host, 9, 10);
	assert_true(m && m->type == GANG_REPLY && m->tid == 9 && m->host == 3 && m->offer == 1 &&
		    m->utilization == 0.1);
	assert_null(request(&host, 8, 11)); /* offered to another: no answer */
	m = request(&host, 9, 200); /* repeated: the same offer, which is not extended */
	assert_true(m && m->offer == 1);
	tell(&host, NULL, 0, 10 + OFFER - 1);
	assert_int_equal(host.state, GANG_OFFERED);
	tell(&host, NULL, 0, 10 + OFFER);
	assert_int_equal(host.state, GANG_FREE);
	assert_null(occupy(&host, 9, 1, 50, 400)); /* late: the offer is over */

	m = request(&host, 9, 500);
	assert_true(m && m->offer == 2);
	assert_null(occupy(&host, 9, 1, 60, 501)); /* a late one for the first offer frees it */
	assert_int_equal(host.state, GANG_FREE);
	m = request(&host, 9, 502);
	assert_true(m && m->offer == 3);
	assert_null(occupy(&host, 8, 3, 60, 503)); /* another's */
	assert_int_equal(host.state, GANG_OFFERED);
	m = occupy(&host, 9, 3, 60, 510);
	assert_true(m && m->type == GANG_CONFIRM && m->stamp == 60 && m->lease == LEASE);
	assert_int_equal(host.state, GANG_OCCUPIED);
	assert_null(request(&host, 9, 520)); /* no offer while it is occupied, to nobody */
	assert_null(request(&host, 8, 520));
	m = occupy(&host, 9, 3, 60, 900); /* repeated: confirmed, but not extended */
	assert_true(m && m->stamp == 60);
	assert_null(occupy(&host, 9, 3, 59, 901)); /* older */
	tell(&host, NULL, 0, 510 + LEASE - 1);
	assert_int_equal(host.state, GANG_OCCUPIED);
	m = occupy(&host, 9, 3, 1060, 510 + LEASE - 1); /* renewed */
	assert_true(m && m->stamp == 1060);
	tell(&host, NULL, 0, 510 + LEASE);
	assert_int_equal(host.state, GANG_OCCUPIED);
	release.tid = 8;
	tell(&host, &release, 0, 1600);
	assert_int_equal(host.state, GANG_OCCUPIED);
	release.tid = 9;
	tell(&host, &release, 0, 1600);
	assert_int_equal(host.state, GANG_FREE);
	assert_int_equal(host.tid, 0);
	assert_null(tell(&host, &(struct gang_message){ .type = GANG_REQUEST, .threshold = 1 }, 0,
			 1700));
	assert_int_equal(host.state, GANG_FREE); /* tid 0 is nobody */

	gang_host_begin(&host, 3, OFFER, LEASE / 2); /* no longer than the host allows */
	request(&host, 7, 0);
	m = occupy(&host, 7, 1, 1, 0);
	assert_true(m && m->lease == LEASE / 2);
	tell(&host, NULL, 0, LEASE / 2);
	assert_int_equal(host.state, GANG_FREE);
	request(&host, 7, 2000);
	assert_null(occupy(&host, 7, 9, 5, 2001)); /* not listed: free at once */
	assert_int_equal(host.state, GANG_FREE);
}

/* A host that has started again while a gang was there. */
static void test_adopts(void **state)
{
	const struct gang_message *m;
	struct gang_host host;

	gang_host_begin(&host, 3, OFFER, LEASE);
	assert_null(occupy(&host, 9, 1, 60, 0)); /* it has not */
	host.offer = 100;
	gang_host_adopts(&host, 500);
	assert_null(occupy(&host, 9, 101, 60, 1)); /* an offer that was never made */
	m = occupy(&host, 9, 40, 60, 1);
	assert_true(m && m->type == GANG_CONFIRM && m->stamp == 60 && m->lease == LEASE);
	assert_null(occupy(&host, 8, 41, 60, 2)); /* it is not free any more */
	assert_int_equal(host.tid, 9);
	tell(&host, NULL, 0, 1 + LEASE);
	assert_int_equal(host.state, GANG_FREE);

	gang_host_begin(&host, 3, OFFER, LEASE);
	host.offer = 100;
	gang_host_adopts(&host, 500);
	m = request(&host, 8, 10);
	assert_true(m && m->offer == 101);
	assert_null(occupy(&host, 9, 40, 60, 11)); /* another has got it in between */
	assert_int_equal(host.tid, 8);
	tell(&host, NULL, 0, 10 + OFFER);
	assert_null(occupy(&host, 9, 40, 60, 500)); /* nobody had it for so long */
	assert_int_equal(host.state, GANG_FREE);
}

static const struct gang_job_options options = {
	.tid = 5, .threshold = 0.5, .collect = 100, .repeat = 40, .lease = LEASE, .margin = 10
};

static size_t sent(struct gang_job *job, const struct gang_message *message, uint64_t now)
{
	box.n = 0;
	assert_int_equal(gang_job_step(job, message, now, put, &box), 0);
	return box.n;
}

static struct gang_message reply(uint32_t host, uint64_t offer)
{
	return (struct gang_message){
		.type = GANG_REPLY, .tid = 5, .host = host, .offer = offer, .utilization = 0.1
	};
}

static struct gang_message confirm(uint32_t host, uint64_t stamp)
{
	return (struct gang_message){
		.type = GANG_CONFIRM, .tid = 5, .host = host, .stamp = stamp, .lease = LEASE
	};
}

static void test_initiator(void **state)
{
	struct gang_message m;
	struct gang_job job;
	size_t both[] = { 0, 1 }, twice[] = { 0, 0 }, none[] = { 2 };

	box.n = 0;
	gang_job_begin(&job, &options, 1000, put, &box);
	assert_true(box.n == 1 && box.list[0].type == GANG_REQUEST && box.list[0].threshold == 0.5);
	m = reply(1, 1);
	assert_int_equal(sent(&job, &m, 1010), 0);
	assert_int_equal(sent(&job, &m, 1011), 0); /* twice */
	m.tid = 6;
	m.host = 4;
	assert_int_equal(sent(&job, &m, 1011), 0); /* another job's */
	assert_int_equal(sent(&job, NULL, 1039), 0);
	assert_int_equal(sent(&job, NULL, 1040), 1);
	assert_int_equal(box.list[0].type, GANG_REQUEST);
	m = reply(2, 7);
	sent(&job, &m, 1050);
	m = reply(1, 2); /* the first offer ran out */
	sent(&job, &m, 1060);
	assert_int_equal(job.nreplies, 2);
	assert_int_equal(gang_job_choose(&job, both, 2, 1060, put, &box), -EINVAL);
	sent(&job, NULL, 1100);
	assert_int_equal(job.state, GANG_CHOOSING);
	assert_int_equal(gang_job_choose(&job, twice, 2, 1100, put, &box), -EINVAL);
	assert_int_equal(gang_job_choose(&job, none, 1, 1100, put, &box), -EINVAL);
	box.n = 0;
	assert_int_equal(gang_job_choose(&job, both, 2, 1100, put, &box), 0);
	assert_true(box.n == 1 && box.list[0].type == GANG_OCCUPY && box.list[0].nseats == 2 &&
		    box.list[0].stamp == 1100 && box.list[0].seats[0].offer == 2);
	m = reply(3, 1); /* late: released, it alone */
	assert_int_equal(sent(&job, &m, 1101), 1);
	assert_true(box.list[0].type == GANG_RELEASE && box.list[0].single &&
		    box.list[0].host == 3);
	m = confirm(1, 1100);
	assert_int_equal(sent(&job, &m, 1110), 0);
	assert_int_equal(job.state, GANG_OCCUPYING);
	assert_false(gang_job_has(&job, 1, 1110));
	assert_int_equal(sent(&job, NULL, 1140), 1); /* the other one did not receive it */
	assert_true(box.list[0].type == GANG_OCCUPY && box.list[0].stamp == 1100);
	m = confirm(2, 1100);
	sent(&job, &m, 1150);
	assert_int_equal(job.state, GANG_RUNNING);
	assert_true(gang_job_has(&job, 1, 1150) && gang_job_has(&job, 2, 1150) &&
		    !gang_job_has(&job, 3, 1150));
	assert_int_equal(sent(&job, NULL, 1432), 0);
	assert_int_equal(sent(&job, NULL, 1433), 1); /* a third of the lease: renewed */
	assert_int_equal(box.list[0].stamp, 1433);
	m = confirm(1, 1433);
	sent(&job, &m, 1440);
	/* the second stays silent: its lease ends 10 before 2100, and with it the job */
	for (uint64_t now = 1440; now < 2090; now++)
		sent(&job, NULL, now);
	assert_int_equal(job.state, GANG_RUNNING);
	assert_true(gang_job_has(&job, 2, 2089) && !gang_job_has(&job, 2, 2090));
	m = confirm(2, 1433); /* too late to be believed */
	assert_int_equal(sent(&job, &m, 2090), 1);
	assert_int_equal(box.list[0].type, GANG_RELEASE);
	assert_true(job.state == GANG_ENDED && job.lost && !gang_job_has(&job, 1, 2090));
	gang_job_end(&job);

	gang_job_begin(&job, &options, 0, put, &box);
	sent(&job, NULL, 100);
	assert_int_equal(gang_job_choose(&job, NULL, 0, 100, put, &box), 0);
	assert_true(job.state == GANG_ENDED && !job.lost);
	gang_job_end(&job);

	gang_job_begin(&job, &options, 0, put, &box);
	m = reply(1, 1);
	sent(&job, &m, 5);
	sent(&job, NULL, 100);
	gang_job_choose(&job, both, 1, 100, put, &box);
	assert_int_equal(sent(&job, NULL, 200), 1); /* nobody confirmed */
	assert_true(box.list[0].type == GANG_RELEASE && job.state == GANG_ENDED);
	gang_job_end(&job);
}

/* ---- a network that loses, repeats, delays and reorders ---- */

#define HOSTS 6
#define JOBS 5
#define DELAY 150
#define WIRE 4096

static struct {
	struct gang_message message;
	struct gang_seat seats[HOSTS];
	uint64_t at;
	int to; /* host, or HOSTS + job; -1: empty */
} wire[WIRE];

struct world {
	struct gang_host hosts[HOSTS];
	struct gang_job jobs[JOBS];
	bool dead[JOBS];
	uint64_t stop[JOBS]; /* when it is done */
	uint64_t now, tid;
	unsigned int loss, starts, lost, taken;
	int sender; /* job that sends now */
};

static void carry(int to, const struct gang_message *m, uint64_t now, unsigned int loss)
{
	unsigned int copies = random_below(100) < loss ? 0 : 1 + !random_below(10);

	for (int i = 0; copies && i < WIRE; i++) {
		if (wire[i].to >= 0)
			continue;
		wire[i].message = *m;
		wire[i].to = to;
		wire[i].at = now + random_below(random_below(4) ? 10 : DELAY);
		if (m->nseats)
			memcpy(wire[i].seats, m->seats, m->nseats * sizeof(*m->seats));
		wire[i].message.seats = wire[i].seats;
		copies--;
	}
	assert_int_equal(copies, 0);
}

static void from_host(void *ctx, const struct gang_message *m)
{
	struct world *w = ctx;

	/* which process has this tid the network knows, as the paper's reply has a host to go to */
	for (int j = 0; j < JOBS; j++)
		if (w->jobs[j].options.tid == m->tid)
			carry(HOSTS + j, m, w->now, w->loss);
}

static void from_job(void *ctx, const struct gang_message *m)
{
	struct world *w = ctx;

	for (int h = 0; h < HOSTS; h++)
		if (!m->single || m->host == (uint32_t)h)
			carry(h, m, w->now, w->loss);
}

static void begin_job(struct world *w, int j)
{
	struct gang_job_options o = options;

	gang_job_end(&w->jobs[j]);
	o.tid = ++w->tid;
	o.collect = OFFER / 3;
	o.threshold = 2;
	gang_job_begin(&w->jobs[j], &o, w->now, from_job, w);
	w->stop[j] = w->now + OFFER + random_below(3 * LEASE);
}

static void drive_job(struct world *w, int j)
{
	struct gang_job *job = &w->jobs[j];
	size_t chosen[HOSTS], n;

	if (w->dead[j])
		return;
	if (job->state == GANG_CHOOSING) {
		n = job->nreplies ? random_below(job->nreplies + 1) : 0;
		for (size_t i = 0; i < n; i++)
			chosen[i] = i;
		assert_int_equal(gang_job_choose(job, chosen, n, w->now, from_job, w), 0);
	}
	if (job->state == GANG_RUNNING && w->now >= w->stop[j]) {
		w->starts++;
		gang_job_release(job, from_job, w);
	}
	if (job->state == GANG_ENDED) {
		if (!random_below(50)) {
			w->lost += job->lost;
			begin_job(w, j);
		}
	}
	if (!random_below(5000))
		w->dead[j] = true;
}

static void deliver(struct world *w)
{
	for (int i = 0; i < WIRE; i++) {
		int to = wire[i].to;

		if (to < 0 || wire[i].at > w->now)
			continue;
		wire[i].to = -1;
		if (to < HOSTS) {
			struct gang_message m = wire[i].message;
			struct gang_seat seats[HOSTS];

			memcpy(seats, wire[i].seats,
			       sizeof(seats)); /* its cell may be used again */
			m.seats = seats;
			gang_host_step(&w->hosts[to], &m, 0.1, w->now, from_host, w);
		} else if (!w->dead[to - HOSTS]) {
			struct gang_message m = wire[i].message;

			assert_int_equal(
				gang_job_step(&w->jobs[to - HOSTS], &m, w->now, from_job, w), 0);
		}
	}
}

/* A job that believes it has a host has it, so no two do. A dead initiator's job goes on until its
 * lease ends. */
static void check_world(struct world *w)
{
	for (int j = 0; j < JOBS; j++)
		for (uint32_t h = 0; h < HOSTS; h++) {
			if (!gang_job_has(&w->jobs[j], h, w->now))
				continue;
			w->taken++;
			assert_int_equal(w->hosts[h].state, GANG_OCCUPIED);
			assert_int_equal(w->hosts[h].tid, w->jobs[j].options.tid);
		}
}

static void test_enough(void **state)
{
	struct gang_message m = reply(1, 1);
	struct gang_job job;
	size_t first[] = { 0 };

	box.n = 0;
	gang_job_begin(&job, &options, 1000, put, &box);
	sent(&job, &m, 1001);
	gang_job_enough(&job); /* long before the time for replies is over */
	assert_int_equal(job.state, GANG_CHOOSING);
	assert_int_equal(gang_job_choose(&job, first, 1, 1002, put, &box), 0);
	gang_job_enough(&job);
	assert_int_equal(job.state, GANG_OCCUPYING);
	gang_job_end(&job);
}

static void test_network(void **state)
{
	static struct world w;
	unsigned int starts = 0, lost = 0;

	random_begin();
	for (unsigned int round = 0; round < 24; round++) {
		uint64_t died;

		w = (struct world){ .loss = round % 4 * 10, .tid = w.tid };
		for (int i = 0; i < WIRE; i++)
			wire[i].to = -1;
		for (uint32_t h = 0; h < HOSTS; h++)
			gang_host_begin(&w.hosts[h], h, OFFER, LEASE);
		for (int j = 0; j < JOBS; j++) {
			w.jobs[j].state = GANG_ENDED;
			begin_job(&w, j);
		}
		for (; w.now < 6000; w.now++) {
			deliver(&w);
			for (uint32_t h = 0; h < HOSTS; h++)
				gang_host_step(&w.hosts[h], NULL, 0.1, w.now, from_host, &w);
			for (int j = 0; j < JOBS; j++) {
				if (!w.dead[j])
					gang_job_step(&w.jobs[j], NULL, w.now, from_job, &w);
				drive_job(&w, j);
			}
			check_world(&w);
		}
		/* all die: what is on the wire comes in, and then leases end */
		died = w.now;
		for (int j = 0; j < JOBS; j++)
			w.dead[j] = true;
		for (; w.now < died + DELAY + LEASE; w.now++) {
			deliver(&w);
			check_world(&w);
		}
		for (uint32_t h = 0; h < HOSTS; h++) {
			gang_host_step(&w.hosts[h], NULL, 0.1, w.now, from_host, &w);
			assert_int_equal(w.hosts[h].state, GANG_FREE);
		}
		assert_true(w.taken > 0);
		starts += w.starts;
		lost += w.lost;
		for (int j = 0; j < JOBS; j++)
			gang_job_end(&w.jobs[j]);
	}
	print_message("# %u jobs ran to their end, %u lost a host\n", starts, lost);
	assert_true(starts > 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host),	cmocka_unit_test(test_adopts),
		cmocka_unit_test(test_enough),	cmocka_unit_test(test_initiator),
		cmocka_unit_test(test_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
