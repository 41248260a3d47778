// SPDX-License-Identifier: GPL-2.0-or-later
/* The side of the host, which is the load daemon of the paper. */
#include "protocol.h"

void gang_host_begin(struct gang_host *host, uint32_t number, uint32_t offer_lease,
		     uint32_t lease_most)
{
	*host = (struct gang_host){ .number = number,
				    .offer_lease = offer_lease,
				    .lease_most = lease_most };
}

void gang_host_adopts(struct gang_host *host, uint64_t until)
{
	host->adopts_until = until;
}

static void set_free(struct gang_host *host)
{
	host->state = GANG_FREE;
	host->tid = 0;
}

static void on_request(struct gang_host *host, const struct gang_message *m, double utilization,
		       uint64_t now, gang_send_fn send, void *ctx)
{
	if (host->state == GANG_FREE) {
		if (!(utilization < m->threshold))
			return;
		host->state = GANG_OFFERED;
		host->tid = m->tid;
		host->offer++;
		host->stamp = 0;
		host->until = now + host->offer_lease;
	} else if (host->state != GANG_OFFERED || host->tid != m->tid) {
		return;
	}
	/* sent again if the first reply was lost; that does not extend the offer */
	send(ctx, &(struct gang_message){ .type = GANG_REPLY,
					  .tid = host->tid,
					  .host = host->number,
					  .utilization = utilization,
					  .offer = host->offer });
}

/* A gang that was here before this host started again still has its lease, and no other does. */
static void adopt(struct gang_host *host, const struct gang_message *m, uint64_t now)
{
	if (host->state != GANG_FREE || now >= host->adopts_until)
		return;
	for (size_t i = 0; i < m->nseats; i++) {
		if (m->seats[i].host != host->number || m->seats[i].offer > host->offer)
			continue;
		host->state = GANG_OFFERED;
		host->tid = m->tid;
		host->offer = m->seats[i].offer;
		host->stamp = 0;
	}
}

static bool is_listed(const struct gang_host *host, const struct gang_message *m)
{
	for (size_t i = 0; i < m->nseats; i++)
		if (m->seats[i].host == host->number)
			return m->seats[i].offer == host->offer;
	return false;
}

static void on_occupy(struct gang_host *host, const struct gang_message *m, uint64_t now,
		      gang_send_fn send, void *ctx)
{
	adopt(host, m, now);
	if (host->state == GANG_FREE || host->tid != m->tid || m->stamp < host->stamp)
		return;
	if (!is_listed(host, m)) {
		set_free(host);
		return;
	}
	if (m->stamp > host->stamp) {
		host->state = GANG_OCCUPIED;
		host->stamp = m->stamp;
		host->lease = m->lease < host->lease_most ? m->lease : host->lease_most;
		host->until = now + host->lease;
	}
	send(ctx, &(struct gang_message){ .type = GANG_CONFIRM,
					  .tid = host->tid,
					  .host = host->number,
					  .stamp = host->stamp,
					  .lease = host->lease });
}

void gang_host_step(struct gang_host *host, const struct gang_message *m, double utilization,
		    uint64_t now, gang_send_fn send, void *ctx)
{
	if (host->state != GANG_FREE && now >= host->until)
		set_free(host);
	if (!m || !m->tid || (m->single && m->host != host->number))
		return;
	if (m->type == GANG_REQUEST)
		on_request(host, m, utilization, now, send, ctx);
	else if (m->type == GANG_OCCUPY)
		on_occupy(host, m, now, send, ctx);
	else if (m->type == GANG_RELEASE && m->tid == host->tid &&
		 (!m->single || m->offer == host->offer))
		set_free(host);
}
