// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/common/common.h"
#include "tools/ehctl/client.h"

#define ANSWER_SECONDS 4 /* an agent that says nothing for this long is not waited for */

/* A connection for questions while commands run: signals are blocked then. */
static int connect_limited(void)
{
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int fd = client_connect(true);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* `first`: before anything runs. Then errors are printed. */
static json_t *ask(json_t *request, bool first)
{
	int fd = first ? client_connect(false) : connect_limited(), code;
	json_t *reply = NULL;

	if (fd < 0) {
		json_decref(request);
		return NULL;
	}
	if (!client_send(fd, request))
		reply = first ? client_receive(fd, &code, NULL) : client_hear(fd, &code, NULL);
	close(fd);
	return reply;
}

static json_t *ask_status(bool first)
{
	return ask(json_pack("{s:s}", "command", "status"), first);
}

static void take_state(struct cluster_host *host, const json_t *node)
{
	const char *agent = json_string_value(json_object_get(node, "agent"));

	host->up = agent && !strcmp(agent, "up");
	host->draining = json_is_true(json_object_get(node, "draining"));
	host->load = json_number_value(json_object_get(node, "load"));
}

bool cluster_is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == length && !strncmp(list, name, length))
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}

static uint32_t slots_of(const struct cluster_host *host, uint32_t wanted)
{
	double most = fmax(floor(host->capacity), 1), own = host->capacity - host->load;

	if (wanted)
		return wanted;
	return (uint32_t)fmin(fmax(round(own), 1), most);
}

/* Each name of --hosts must be one of the cluster. */
static int check_list(const struct cluster *c, const char *list)
{
	while (list && *list) {
		size_t word = strcspn(list, ",");
		bool known = false;

		for (uint32_t i = 0; i < c->n && !known; i++)
			known = strlen(c->hosts[i].name) == word &&
				!strncmp(c->hosts[i].name, list, word);
		if (!known)
			return fail(EXIT_USAGE, "--hosts: no host of the cluster is named %.*s",
				    (int)word, list);
		list += word + (list[word] == ',');
	}
	return 0;
}

int cluster_open(struct cluster *c, const struct cluster_wish *wish)
{
	json_t *reply = ask_status(true), *node;
	const char *own = json_string_value(json_object_get(reply, "self"));
	const json_t *nodes = json_object_get(reply, "nodes");
	uint32_t usable = 0;
	int code = 0;
	size_t i;

	*c = (struct cluster){ .self = UINT32_MAX };
	if (!reply)
		return EXIT_REFUSED;
	c->hosts = calloc(json_array_size(nodes) + 1, sizeof(*c->hosts));
	json_array_foreach(nodes, i, node) {
		const char *name = json_string_value(json_object_get(node, "host"));
		const char *at = json_string_value(json_object_get(node, "code"));
		struct cluster_host *host = c->hosts ? &c->hosts[c->n] : NULL;

		if (!host || !name || !at)
			continue;
		host->name = strdup(name);
		if (!host->name)
			continue;
		host->capacity = json_number_value(json_object_get(node, "capacity"));
		host->self = own && !strcmp(own, at);
		take_state(host, node);
		if (host->self)
			c->self = c->n;
		c->n++;
		if (!host->up || host->draining ||
		    (wish->only && !cluster_is_listed(wish->only, name)))
			continue;
		host->slots = slots_of(host, wish->slots);
		usable++;
	}
	json_decref(reply);
	code = check_list(c, wish->only);
	if (!code && !usable)
		code = fail(EXIT_REFUSED, "no host that is up takes tasks: see `ehctl status`");
	return code;
}

void cluster_close(struct cluster *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->hosts[i].name);
	free(c->hosts);
	*c = (struct cluster){ 0 };
}

bool cluster_usable(const struct cluster_host *host)
{
	return host->slots && host->up && !host->draining;
}

void cluster_note_down(const struct cluster *c, double now, double *since)
{
	for (uint32_t h = 0; h < c->n; h++)
		if (c->hosts[h].up)
			since[h] = 0;
		else if (!(since[h] > 0))
			since[h] = now;
}

double cluster_slowdown(const struct cluster_host *host)
{
	return host->capacity > 0 ? fmax(1, (host->load + host->slots) / host->capacity) : 1;
}

static bool take_status(struct cluster *c, json_t *reply)
{
	bool changed = false;
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(reply, "nodes"), i, node) {
		const char *name = json_string_value(json_object_get(node, "host"));

		for (uint32_t h = 0; name && h < c->n; h++) {
			bool was = cluster_usable(&c->hosts[h]);

			if (strcmp(c->hosts[h].name, name))
				continue;
			take_state(&c->hosts[h], node);
			changed = changed || was != cluster_usable(&c->hosts[h]);
		}
	}
	json_decref(reply);
	return changed;
}

bool cluster_look(struct cluster *c)
{
	return take_status(c, ask_status(false));
}

int cluster_ask(void)
{
	int fd = connect_limited();

	if (fd >= 0 && client_send(fd, json_pack("{s:s}", "command", "status"))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool cluster_answer(struct cluster *c, int fd)
{
	int code;
	json_t *reply = client_hear(fd, &code, NULL);

	close(fd);
	return take_status(c, reply);
}

enum cluster_way cluster_way(int pid, char *why, unsigned int size)
{
	char id[16];
	const char *reason, *text;
	json_t *reply;
	enum cluster_way way = CLUSTER_KEPT;

	snprintf(id, sizeof(id), "%d", pid);
	reply = ask(json_pack("{s:s, s:s}", "command", "why", "id", id), false);
	reason = json_string_value(json_object_get(reply, "reason"));
	text = json_string_value(json_object_get(reply, "text"));
	/* without a record the status is taken for that of the command */
	if (!reason || !strcmp(reason, "explicit"))
		way = CLUSTER_WENT;
	else if (!strcmp(reason, "queue-full") || !strcmp(reason, "guest-limit"))
		way = CLUSTER_FULL;
	snprintf(why, size, "%s", way == CLUSTER_WENT || !text ? "" : text);
	json_decref(reply);
	return way;
}
