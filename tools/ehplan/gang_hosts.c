// SPDX-License-Identifier: GPL-2.0-or-later
/* The hosts of a gang belong to a connection to the agent of this node, and are free when it ends. */
#include "gang_run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster.h"
#include "tools/common/common.h"
#include "tools/ehctl/client.h"

#define BUSY_MOST 0.99 /* by equation (1) a job on a host without any idle time would never end */
#define RELEASE_MS 10000

static int take_offers(struct gang_run *run, const json_t *hosts, const char *only)
{
	const json_t *item;
	size_t i;

	run->offers = calloc(json_array_size(hosts) + 1, sizeof(*run->offers));
	if (!run->offers)
		return fail(EXIT_REFUSED, "no memory");
	json_array_foreach((json_t *)hosts, i, item) {
		const char *node = json_string_value(json_object_get(item, "node"));
		const char *host = json_string_value(json_object_get(item, "host"));
		double used = json_number_value(json_object_get(item, "utilization"));
		struct gang_offer *o = &run->offers[run->n];

		if (!node || !host || (only && !cluster_is_listed(only, host)))
			continue;
		o->node = strdup(node);
		o->host = strdup(host);
		o->utilization = used < BUSY_MOST ? used : BUSY_MOST;
		run->n++;
		if (!o->node || !o->host)
			return fail(EXIT_REFUSED, "no memory");
	}
	return 0;
}

int gang_hosts_ask(struct gang_run *run, const char *only)
{
	json_t *reply;
	int code = EXIT_REFUSED;

	run->agent = client_connect(false);
	if (run->agent < 0 || client_send(run->agent, json_pack("{s:s, s:f}", "command", "gang",
								"threshold", run->threshold)))
		return EXIT_REFUSED;
	reply = client_hear(run->agent, &code, NULL);
	if (!reply)
		return code;
	if (json_object_get(reply, "error")) {
		run->refusal = reply;
		close(run->agent);
		run->agent = -1;
		return 0;
	}
	code = take_offers(run, json_object_get(reply, "hosts"), only);
	json_decref(reply);
	return code;
}

int gang_hosts_occupy(struct gang_run *run)
{
	json_t *nodes = json_array(), *reply;
	int code = EXIT_REFUSED;

	for (uint32_t i = 0; i < run->count; i++)
		json_array_append_new(nodes, json_string(run->offers[run->chosen[i]].node));
	if (client_send(run->agent, json_pack("{s:s, s:o}", "command", "occupy", "nodes", nodes)))
		return EXIT_REFUSED;
	reply = client_receive(run->agent, &code, NULL);
	if (!reply)
		return code ? code : EXIT_REFUSED;
	json_decref(reply);
	return 0;
}

void gang_hosts_release(struct gang_run *run)
{
	struct pollfd p = { run->agent, POLLIN, 0 };
	json_t *reply;
	int code;

	if (run->agent < 0 || client_send(run->agent, json_pack("{s:s}", "command", "release")))
		return;
	/* its leases end in any case */
	while (poll(&p, 1, RELEASE_MS) > 0) {
		bool end = false;

		reply = client_receive(run->agent, &code, &end);
		/* an event may be before it */
		if (!reply || json_object_get(reply, "version")) {
			json_decref(reply);
			return;
		}
		json_decref(reply);
	}
}

void gang_hosts_hear(struct gang_run *run)
{
	bool end = false;
	int code;
	json_t *event = client_receive(run->agent, &code, &end);
	const char *host = json_string_value(json_object_get(event, "host"));
	const char *why = json_string_value(json_object_get(event, "why"));

	run->lost = true;
	if (event)
		fail(0, "%s is lost: %s; the job is ended", host ? host : "a host", why ? why : "");
	else
		fail(0,
		     "the agent of this node has ended, and the hosts are free: the job is ended");
	json_decref(event);
	if (event)
		return;
	close(run->agent);
	run->agent = -1;
}

void gang_hosts_forget(struct gang_run *run)
{
	if (run->agent >= 0)
		close(run->agent);
	run->agent = -1;
	json_decref(run->refusal);
	run->refusal = NULL;
	for (uint32_t i = 0; i < run->n; i++) {
		free(run->offers[i].host);
		free(run->offers[i].node);
	}
	free(run->offers);
	run->offers = NULL;
	run->n = 0;
}
