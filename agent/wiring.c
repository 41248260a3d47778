// SPDX-License-Identifier: GPL-2.0-or-later
#include "wiring.h"

#include <errno.h>
#include <string.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/directory.h"
#include "base/event.h"
#include "base/keep.h"
#include "base/log.h"
#include "cluster/admission.h"
#include "cluster/ask.h"
#include "cluster/credits.h"
#include "cluster/drain.h"
#include "cluster/own_roster.h"
#include "cluster/exchange.h"
#include "cluster/gang.h"
#include "cluster/gather.h"
#include "cluster/hello.h"
#include "cluster/hierarchy.h"
#include "cluster/invite.h"
#include "cluster/join.h"
#include "cluster/lapse.h"
#include "cluster/leave.h"
#include "cluster/owner.h"
#include "cluster/renew.h"
#include "cluster/roster.h"
#include "cluster/seat.h"
#include "cluster/slots.h"
#include "cluster/store.h"
#include "cluster/versions.h"
#include "cluster/vouch.h"
#include "cluster/withdraw.h"
#include "confine.h"
#include "ctl/commands.h"
#include "ctl/listener.h"
#include "ctl/pair_run.h"
#include "ctl/questions.h"
#include "ctl/sessions.h"
#include "ctl/socket.h"
#include "ctl/watchers.h"
#include "eh/topology.h"
#include "executor/admit.h"
#include "executor/guest.h"
#include "executor/reserve.h"
#include "executor/reserve_ask.h"
#include "executor/view.h"
#include "home/away.h"
#include "home/counters.h"
#include "home/eligible.h"
#include "home/exec.h"
#include "home/history.h"
#include "home/incidents.h"
#include "home/learn.h"
#include "home/record.h"
#include "home/serve.h"
#include "home/stops.h"
#include "job/files.h"
#include "job/looks.h"
#include "net/client.h"
#include "net/ops.h"
#include "net/peers.h"
#include "net/recheck.h"
#include "net/revoked.h"
#include "net/server.h"
#include "net/tls.h"
#include "node/cgroup.h"
#include "node/kernel.h"
#include "base/ehlaunch.h"
#include "node/memory.h"
#include "node/node.h"
#include "node/local_task.h"

static void wiring_count_tasks(struct agent *agent, struct node_tasks *out)
{
	*out = (struct node_tasks){
		.guests = reserve_guests(agent),
		.starting = reserve_starting_load(agent),
		.reserved = reserve_load(agent),
		.away = away_count(agent),
	};
}

static void wiring_known(struct peer *p)
{
	hierarchy_peer_known(p);
	if (p->known || !p->agent->gangs)
		return;
	seat_forget(p);
	gang_forget(p);
}

static const struct net_ops wiring_net_ops = {
	.changed = hierarchy_peer_changed,
	.known = wiring_known,
	.greet = hello_greet,
	.greeted = hello_check,
	.invites = invite_is_open,
	.visit = invite_on_visit,
};

static const struct node_ops wiring_node_ops = {
	.tasks = wiring_count_tasks,
	.changed = hierarchy_touch,
	.threshold = hierarchy_threshold_set,
};

static void wiring_module_changed(struct agent *agent)
{
	/* First what is load and what is not. */
	away_module_changed(agent);
	node_module_changed(agent);
}

static const struct kernel_ops wiring_kernel_ops = {
	.changed = wiring_module_changed,
	.seen = node_seen,
	.loaded = node_loaded,
	.refresh = node_refresh,
	.place = exec_place,
	.too_late = exec_too_late,
};

static const struct own_roster_ops wiring_own_roster_ops = {
	.top = hierarchy_known_top,
	.exchange = exchange_begin,
};

static const struct server_route wiring_routes[] = {
	{ .method = "POST", .path = "/v1/control", .later = hierarchy_on_message },
	{ .method = "POST", .path = "/v1/credit", .later = credits_on_message },
	{ .method = "POST", .path = "/v1/slots", .later = slots_on_message },
	{ .method = "POST", .path = "/v1/gang", .later = gang_on_message },
	{ .method = "POST", .path = "/v1/drain", .json = drain_on_request },
	{ .method = "GET", .path = "/v1/nodes", .later = gather_on_nodes },
	{ .method = "POST", .path = "/v1/survey", .later = questions_on_request },
	{ .method = "GET", .path = "/v1/guests", .json = guest_on_ask },
	{ .method = "POST", .path = "/v1/timing", .json = guest_on_timing },
	{ .method = "POST", .path = "/v1/pairs", .later = pair_run_on_request },
	{ .method = "POST", .path = "/v1/users", .json = admit_on_users },
	{ .method = "POST", .path = "/v1/reserve", .later = reserve_on_request },
	{ .method = "POST", .path = "/v1/start", .stream = guest_place },
	{ .method = "POST", .path = "/v1/job", .stream = guest_job },
	{ .method = "POST", .path = "/v1/resume", .stream = guest_resume },
	{ .method = "POST", .path = "/v1/mounts", .json = serve_mounts },
	{ .method = "POST", .path = "/v1/files", .stream = serve_files },
	{ .method = "POST", .path = "/v1/join", .open = true, .later = admission_on_join },
	{ .method = "POST", .path = "/v1/leave", .later = admission_on_leave },
	{ .method = "GET", .path = "/v1/roster", .open = true, .json = exchange_on_get },
	{ .method = "POST", .path = "/v1/roster", .json = exchange_on_whole },
	{ .method = "POST", .path = "/v1/roster/parts", .json = exchange_on_parts },
	{ .method = "POST", .path = "/v1/renew", .json = renew_on_request },
	{ .method = "GET", .path = "/v1/revoked", .json = withdraw_on_get },
	{ .method = "POST", .path = "/v1/revoked", .json = withdraw_on_post },
	{ 0 },
};

/* Finds this host's place in the cluster: configured, saved, or asked for. 0 or -errno. */
static int wiring_take_place(struct agent *agent, void (*ready)(void))
{
	struct config *c = agent->config;
	struct roster *roster = store_read(c, c->host);
	int err;

	if (roster)
		vouch_first(agent, roster, c->state);
	if (c->njoin) {
		/*
		 * Members that start later are found too: a service manager need not wait for them.
		 */
		ready();
		err = join_run(agent, &roster);
		if (err)
			return err;
	} else if (roster && (roster_topology(roster)->n != c->topology.n ||
			      roster_topology(roster)->l != c->topology.l)) {
		log_warning("%s: ignored: it is for another topology", c->state);
		roster_free(roster);
		roster = NULL;
	}
	agent->self = c->node;
	eh_code_format(&c->topology, agent->self, agent->code);
	agent->member = true;
	return own_roster_init(agent, &wiring_own_roster_ops, roster);
}

/* Starts what does not need a place in the cluster. */
static int wiring_start_first(struct agent *agent)
{
	int err;

	/* First of all, as names are asked for from here on; and later no program can be started. */
	err = directory_start();
	if (err)
		log_warning(
			"cannot start ehnames, which is installed beside this program: %s; this "
			"agent waits for the name services",
			strerror(-err));
	/* Before anything that another agent here would notice; later no file can be made there. */
	err = listener_open(agent);
	if (err)
		return err;
	/* It makes the directories of cgroups. */
	err = ehlaunch_init(agent);
	if (err)
		return err;
	/* The same goes for what writes the history: later no program can be started. */
	history_init(agent, sessions_of);
	incidents_init(agent);
	err = ehlaunch_is_apart(agent) ? confine(agent) : 0;
	if (err) {
		log_error("cannot drop the rights that this process does not need: %s",
			  strerror(-err));
		return err;
	}
	err = keep_init(agent);
	if (err)
		return err;
	err = cgroup_init(agent, agent->config->cgroup);
	if (err)
		log_warning("%s: %s: no managed sessions, and guests run without limits of their "
			    "own",
			    agent->config->cgroup, strerror(-err));
	agent->net_ops = &wiring_net_ops;
	if (!agent->cgroup || looks_init(agent) || client_init(agent) || recheck_init(agent) ||
	    revoked_init(agent) || peers_init(agent) || local_task_init(agent) ||
	    reserve_init(agent) || guest_init(agent) || view_init(agent) || counters_init(agent) ||
	    record_init(agent) || memory_init(agent) || learn_init(agent) ||
	    serve_init(agent, away_shows_home, stops_waits) || away_init(agent))
		return -ENOMEM;
	view_on_adopted(agent, guest_join_views);
	err = ctl_init(agent, commands_request);
	return err ?: watchers_init(agent);
}

int wiring_start(struct agent *agent, struct tls *tls, void (*ready)(void))
{
	int err;

	if (!agent->protocol.max)
		agent->protocol = VERSIONS_OF_AGENTS;
	tls_use(agent, tls);
	tls_own_cn(agent->tls, agent->config->host, sizeof(agent->config->host));
	err = wiring_start_first(agent);
	if (!err)
		err = wiring_take_place(agent, ready);
	if (!err)
		err = node_init(agent, &wiring_node_ops);
	if (!err)
		err = owner_init(agent);
	if (!err)
		err = ask_init(agent);
	if (!err)
		err = credits_init(agent);
	if (!err)
		err = slots_init(agent);
	if (!err)
		err = gang_init(agent);
	if (!err)
		err = hierarchy_init(agent, &ask_ops);
	if (!err)
		err = invite_init(agent);
	if (!err)
		err = renew_init(agent);
	if (!err)
		err = lapse_init(agent);
	if (!err)
		err = server_init(agent, wiring_routes);
	if (!err)
		err = kernel_init(agent, &wiring_kernel_ops, node_settings(agent));
	if (!err) {
		event_tell(agent, "start",
			   json_pack("{s:s,s:s?}", "node", agent->code, "release", agent->release));
		ready();
	}
	if (err == -ENOMEM)
		log_error("out of memory: the agent cannot start");
	return err;
}

void wiring_reload(struct agent *agent, struct config *config, struct tls *tls)
{
	struct config *old = agent->config;

	tls_use(agent, tls);
	agent->config = config;
	log_set_levels(&config->log);
	ehlaunch_reload(agent, old);
	view_reload(agent, old);
	serve_reload(agent, old);
	history_reload(agent);
	own_roster_reload(agent, old);
	if (agent->kernel)
		kernel_reload(agent, old);
	node_reload(agent, old);
	owner_reload(agent);
	if (agent->hierarchy)
		credits_reload(agent, old, hierarchy_rank(agent),
			       eh_member_parent(hierarchy_member(agent)));
	revoked_reload(agent);
	renew_reload(agent);
	recheck_all(agent);
	config_free(old);
}

void wiring_stop(struct agent *agent)
{
	/* No new requests; tell the nodes above and below. */
	if (agent->hierarchy) {
		event_tell(agent, "stop", json_pack("{s:s}", "node", agent->code));
		hierarchy_leave(agent);
	}
	gang_end_all(agent);
	client_end(agent);
	pair_run_exit(agent);
	/* Callers that wait for the disk get an answer. */
	keep_settle(agent);
	leave_exit(agent);
	history_end(agent);
	slots_exit(agent);
	watchers_exit(agent);
	ctl_exit(agent);
	files_exit(agent);
	/* Guests first, then the connections that their homes wait on. */
	guest_exit(agent);
	view_exit(agent);
	serve_exit(agent);
	kernel_exit(agent);
	/* Its timer, which may be due, asks the hierarchy for the top controller. */
	lapse_exit(agent);
	hierarchy_exit(agent);
	gang_exit(agent);
	credits_exit(agent);
	ask_exit(agent);
	server_exit(agent);
	peers_close(agent);
	node_exit(agent);
	/* Lets libevent free connections. */
	event_base_loop(agent->base, EVLOOP_NONBLOCK);
	away_exit(agent);
	learn_exit(agent);
	record_exit(agent);
	eligible_exit(agent);
	incidents_exit(agent);
	history_exit(agent);
	directory_exit();
	counters_exit(agent);
	reserve_exit(agent);
	memory_exit(agent);
	peers_exit(agent);
	renew_exit(agent);
	invite_exit(agent);
	own_roster_exit(agent);
	sessions_exit(agent);
	owner_exit(agent);
	drain_exit(agent);
	local_task_exit(agent);
	client_exit(agent);
	recheck_exit(agent);
	revoked_exit(agent);
	ehlaunch_exit(agent);
	keep_exit(agent);
	cgroup_exit(agent);
	tls_use(agent, NULL);
	config_free(agent->config);
	agent->config = NULL;
}
