// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module's netlink family, on three sockets: `call` for requests, which the kernel answers
 * while they are sent; `news` for multicasts (families come and go, the node's state changes);
 * `agent`, which is registered, receives placement requests, and has the right to settings,
 * bypasses and accounts without a capability. The module may be loaded, removed and loaded again
 * while the agent runs.
 */

#include "node/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/family.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/object.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <linux/ehsched.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/config_data.h"
#include "base/log.h"
#include "base/launch_options.h"
#include "base/ehlaunch.h"
#include "cluster/versions.h"
#include "node/kernel_inside.h"
#include "node/netlink.h"

#define KERNEL_RETRY_MS 1000
#define KERNEL_ANSWER_S 5 /* of ehlaunch */

/* ---- requests ---- */

static int kernel_ask(struct agent *agent, struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx)
{
	if (agent->kernel && agent->kernel->family)
		return netlink_do(agent->kernel->call, msg, each, ctx, NULL);
	nlmsg_free(msg);
	return -ENOTCONN;
}

static int kernel_on_node(struct nl_msg *msg, void *ctx)
{
	struct nlattr *attrs[EHS_A_NODE_MAX + 1];
	struct node_view *view = ctx;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, EHS_A_NODE_MAX, NULL) ||
	    !attrs[EHS_A_NODE_LOAD] || !attrs[EHS_A_NODE_STATE])
		return NL_SKIP;
	memset(view, 0, sizeof(*view));
	view->load = nla_get_u32(attrs[EHS_A_NODE_LOAD]);
	view->state = nla_get_u32(attrs[EHS_A_NODE_STATE]);
	if (attrs[EHS_A_NODE_TASKS_LOCAL])
		view->local = nla_get_u32(attrs[EHS_A_NODE_TASKS_LOCAL]);
	if (attrs[EHS_A_NODE_TASKS_GUEST])
		view->guest = nla_get_u32(attrs[EHS_A_NODE_TASKS_GUEST]);
	if (attrs[EHS_A_NODE_TASKS_AWAY])
		view->away = nla_get_u32(attrs[EHS_A_NODE_TASKS_AWAY]);
	return NL_OK;
}

int kernel_get(struct agent *agent, struct node_view *view)
{
	return kernel_ask(agent, kernel_message(agent, EHS_CMD_NODE_GET, NLM_F_REQUEST),
			  kernel_on_node, view);
}

/* Sets these. 0, or -errno with a text in why[]. */
static int kernel_send_settings(struct agent *agent, const struct node_settings *set, char why[160])
{
	struct nl_msg *msg = kernel_message(agent, EHS_CMD_NODE_SET, NLM_F_REQUEST | NLM_F_ACK);
	const struct kernel *k = agent->kernel;
	uint32_t limit = k->time_limit_max && set->time_limit > k->time_limit_max
				 ? k->time_limit_max
				 : set->time_limit;

	if (msg &&
	    (nla_put_u32(msg, EHS_A_NODE_THRESHOLD, set->threshold) ||
	     nla_put_u32(msg, EHS_A_NODE_THRESHOLD_LENGTH, set->length) ||
	     nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, set->index) ||
	     nla_put_u32(msg, EHS_A_NODE_WEIGHT, set->weight) ||
	     nla_put_u32(msg, EHS_A_NODE_TIME_LIMIT, limit) ||
	     nla_put_u32(msg, EHS_A_NODE_DWELL, set->dwell) ||
	     (k->has_processors && nla_put_u32(msg, EHS_A_NODE_PROCESSORS, set->processors)))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return kernel_call(agent, msg, NULL, NULL, why);
}

int kernel_set(struct agent *agent, const struct node_settings *set, char why[160])
{
	int err;

	why[0] = '\0';
	/* Another socket that is about to be registered brings them, and first what they are bound by. */
	if (agent->module && agent->kernel->asked < 0) {
		err = kernel_send_settings(agent, set, why);
		if (err)
			return err;
	}
	/* before kernel_init() they are the node's alone */
	if (agent->kernel)
		agent->kernel->settings = *set;
	return 0;
}

struct kernel_counting {
	void (*each)(void *ctx, uint32_t reason, uint64_t count);
	void *ctx;
};

static void kernel_on_counters(void *arg, struct nlmsghdr *h)
{
	struct nlattr *a[EHS_A_COUNTER_MAX + 1], *pos;
	struct kernel_counting *counting = arg;
	int left;

	if (h->nlmsg_len < (unsigned int)NLMSG_LENGTH(GENL_HDRLEN))
		return;
	nlmsg_for_each_attr(pos, h, GENL_HDRLEN, left) {
		if (nla_type(pos) != EHS_A_NODE_COUNTER ||
		    nla_parse_nested(a, EHS_A_COUNTER_MAX, pos, NULL) || !a[EHS_A_COUNTER_REASON] ||
		    !a[EHS_A_COUNTER_COUNT])
			continue;
		counting->each(counting->ctx, nla_get_u32(a[EHS_A_COUNTER_REASON]),
			       nla_get_u64(a[EHS_A_COUNTER_COUNT]));
	}
}

int kernel_counters(struct agent *agent, void (*each)(void *ctx, uint32_t reason, uint64_t count),
		    void *ctx)
{
	struct kernel_counting counting = { each, ctx };

	/* They are for those who may see the tasks of all users, as the agent's socket may. */
	return kernel_call(agent,
			   kernel_message(agent, EHS_CMD_NODE_GET, NLM_F_REQUEST | NLM_F_ACK),
			   kernel_on_counters, &counting, NULL);
}

/* ---- the module comes and goes ---- */

static void kernel_close_agent(struct agent *agent)
{
	agent_free_event(&agent->kernel->agent_event);
	nl_socket_free(agent->kernel->agent);
	agent->kernel->agent = NULL;
	netlink_forget(&agent->kernel->late);
}

/* Not asked any more. */
static void kernel_close_asked(struct agent *agent)
{
	struct kernel *k = agent->kernel;

	agent_free_event(&k->asked_event);
	if (k->asked >= 0)
		close(k->asked);
	k->asked = -1;
}

/* ehlaunch says what the administrator has allowed; it may have been started by somebody else. */
static int kernel_on_bounds(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[EHS_A_NODE_MAX + 1];
	struct agent *agent = arg;
	struct kernel *k = agent->kernel;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, EHS_A_NODE_MAX, NULL))
		return NL_SKIP;
	if (attrs[EHS_A_NODE_MAX_TIME_LIMIT])
		k->time_limit_max = nla_get_u32(attrs[EHS_A_NODE_MAX_TIME_LIMIT]);
	if (k->time_limit_max && k->settings.time_limit > k->time_limit_max)
		log_warning(
			"time-limit = %u is more than ehlaunch allows (--time-limit-max): execs wait for %u ms",
			k->settings.time_limit, k->time_limit_max);
	k->has_processors = attrs[EHS_A_NODE_PROCESSORS];
	if (k->settings.processors && !k->has_processors)
		log_warning(
			"policy = \"idle\": this module is older and asks only if the node is a sender; "
			"load the new one");
	if (agent->config->no_new_privs && attrs[EHS_A_NODE_NO_NEW_PRIVS] &&
	    !nla_get_u32(attrs[EHS_A_NODE_NO_NEW_PRIVS]))
		log_warning(
			"no-new-privs = true has no effect: ehlaunch was started without --no-new-privs");
	return NL_OK;
}

/* This socket is registered. Takes it over, in the place of one that was before. 0 or -errno. */
static int kernel_use(struct agent *agent, int fd, char why[160])
{
	struct kernel *k = agent->kernel;
	int err = -ENOMEM;

	kernel_close_agent(agent);
	snprintf(why, 160, "out of memory");
	k->agent = netlink_adopt(fd);
	if (!k->agent) {
		close(fd);
		return err;
	}
	nl_socket_set_nonblocking(k->agent);
	/* An error must carry the verdict that it is about. */
	netlink_want_texts(k->agent, false);
	k->agent_event = agent_watch(agent, fd, EV_READ | EV_PERSIST, kernel_on_agent, agent);
	if (!k->agent_event)
		goto close_agent;
	k->time_limit_max = 0;
	k->has_processors = false;
	kernel_ask(agent, kernel_message(agent, EHS_CMD_NODE_GET, NLM_F_REQUEST), kernel_on_bounds,
		   agent);
	err = kernel_send_settings(agent, &k->settings, why);
	if (!err)
		return 0;
close_agent:
	kernel_close_agent(agent);
	return err;
}

/* Tries again in a while, as the cause may go. */
static void kernel_failed(struct agent *agent, const char *why)
{
	struct kernel *k = agent->kernel;

	if (strcmp(why, k->why))
		log_warning(
			"the module is loaded but this agent is not registered: %s; trying again",
			why);
	snprintf(k->why, sizeof(k->why), "%s", why);
	clock_arm(k->retry, KERNEL_RETRY_MS);
}

/* ehlaunch has answered, or ended. */
static void kernel_on_registered(evutil_socket_t fd, short what, void *arg)
{
	struct launch_registered told = { .text = "ehlaunch has ended, or does not answer" };
	struct agent *agent = arg;
	char why[160];
	int socket;

	socket = ehlaunch_receive(fd, &told, sizeof(told));
	kernel_close_asked(agent);
	told.text[sizeof(told.text) - 1] = '\0';
	if (socket < 0) {
		kernel_failed(agent, *told.text ? told.text : strerror(told.news.error));
		return;
	}
	if (kernel_use(agent, socket, why)) {
		kernel_failed(agent, why);
		return;
	}
	agent->kernel->why[0] = '\0';
	agent->module = true;
	log_info("registered with the module (family version %u)", agent->kernel->family_version);
	event_tell(agent, "module", json_pack("{s:s,s:b}", "node", agent->code, "loaded", 1));
	agent->kernel->ops->changed(agent);
}

/* Has ehlaunch register a socket, for which this process has not the rights. */
static void kernel_register(struct agent *agent)
{
	const struct launch_head head = { .kind = LAUNCH_KERNEL };
	const struct ehlaunch_request q = { .head = &head, .size = sizeof(head) };
	struct kernel *k = agent->kernel;

	if (k->asked >= 0)
		return;
	k->asked = ehlaunch_ask(agent, &q);
	if (k->asked < 0) {
		kernel_failed(agent, "ehlaunch is not there");
		return;
	}
	k->asked_event = event_new(agent->base, k->asked, EV_READ, kernel_on_registered, agent);
	if (k->asked_event && !clock_arm(k->asked_event, KERNEL_ANSWER_S * 1000))
		return;
	kernel_close_asked(agent);
	kernel_failed(agent, "out of memory");
}

static void kernel_detach(struct agent *agent)
{
	bool was = agent->module;

	agent->kernel->family = 0;
	agent->kernel->family_version = 0;
	agent->module = false;
	kernel_close_asked(agent);
	kernel_close_agent(agent);
	snprintf(agent->kernel->why, sizeof(agent->kernel->why), "the module is not loaded");
	if (!was)
		return;
	log_warning("the module was unloaded: load is read from /proc, execs are not intercepted");
	event_tell(agent, "module", json_pack("{s:s,s:b}", "node", agent->code, "loaded", 0));
	agent->kernel->ops->changed(agent);
}

/*
 * Additions to the family keep its version: older modules do not send them, and newer ones do not
 * need them. Another version means something else by the same numbers.
 */
static bool kernel_fits(struct agent *agent)
{
	const struct versions ours = { EHS_FAMILY_VERSION, EHS_FAMILY_VERSION };
	const struct versions its = { agent->kernel->family_version,
				      agent->kernel->family_version };
	char why[VERSIONS_TEXT];

	if (!*versions_say(why, "family version", "this agent", &ours, "the module", &its))
		return true;
	agent->kernel->family = 0;
	kernel_failed(agent, why);
	return false;
}

static void kernel_attach(struct agent *agent)
{
	struct genl_family *family;
	struct nl_cache *cache;
	int group;

	agent->kernel->family = genl_ctrl_resolve(agent->kernel->call, EHS_FAMILY_NAME);
	if (agent->kernel->family < 0) {
		agent->kernel->family = 0;
		return;
	}
	agent->kernel->family_version = EHS_FAMILY_VERSION;
	if (!genl_ctrl_alloc_cache(agent->kernel->call, &cache)) {
		family = genl_ctrl_search(cache, agent->kernel->family);
		if (family) {
			agent->kernel->family_version = genl_family_get_version(family);
			nl_object_put((struct nl_object *)family);
		}
		nl_cache_free(cache);
	}
	if (!kernel_fits(agent))
		return;
	group = genl_ctrl_resolve_grp(agent->kernel->call, EHS_FAMILY_NAME, EHS_MCGRP_NODE);
	if (group >= 0)
		nl_socket_add_membership(agent->kernel->news, group);
	kernel_register(agent);
}

uint32_t kernel_time_limit_max(const struct agent *agent)
{
	return agent->module && agent->kernel->time_limit_max ? agent->kernel->time_limit_max
							      : EHS_MAX_TIME_LIMIT;
}

void kernel_reload(struct agent *agent, const struct config *old)
{
	const struct config *now = agent->config;

	if (agent->module &&
	    (now->no_new_privs != old->no_new_privs ||
	     launch_time_limit(now) != launch_time_limit(old) || strcmp(now->stub, old->stub)))
		kernel_register(agent);
}

static void kernel_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;

	/* The rules of the site have changed, and could not be told. */
	if (agent->module)
		kernel_register(agent);
	else
		kernel_attach(agent);
}

static int kernel_on_news(struct nl_msg *msg, void *arg)
{
	struct agent *agent = arg;
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct nlattr *a[CTRL_ATTR_MAX + 1];
	struct node_view view;

	if (h->nlmsg_type == agent->kernel->family && agent->kernel->family) {
		if (kernel_on_node(msg, &view) == NL_OK)
			agent->kernel->ops->seen(agent, &view);
		return NL_OK;
	}
	if (h->nlmsg_type != GENL_ID_CTRL || genlmsg_parse(h, 0, a, CTRL_ATTR_MAX, NULL) ||
	    !a[CTRL_ATTR_FAMILY_NAME] ||
	    strcmp(nla_get_string(a[CTRL_ATTR_FAMILY_NAME]), EHS_FAMILY_NAME))
		return NL_OK;
	if (genlmsg_hdr(h)->cmd == CTRL_CMD_DELFAMILY)
		kernel_detach(agent);
	else if (genlmsg_hdr(h)->cmd == CTRL_CMD_NEWFAMILY && !agent->module)
		kernel_attach(agent);
	return NL_OK;
}

/* News were lost: reads what is now. */
static void kernel_look(struct agent *agent)
{
	if (genl_ctrl_resolve(agent->kernel->call, EHS_FAMILY_NAME) < 0)
		kernel_detach(agent);
	else if (!agent->module)
		kernel_attach(agent);
	else
		agent->kernel->ops->refresh(agent);
}

static void kernel_on_news_event(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct kernel *k = agent->kernel;

	for (int i = 0; i < 32; i++) {
		int err = nl_recvmsgs_default(k->news);

		if (err == -NLE_NOMEM) {
			k->missed = true;
		} else if (err < 0) {
			/* Not before: what was queued is older than what is now. */
			if (k->missed)
				kernel_look(agent);
			k->missed = false;
			return;
		}
	}
}

int kernel_init(struct agent *agent, const struct kernel_ops *ops,
		const struct node_settings *settings)
{
	const struct timeval limit = { 2, 0 };
	int group, err = -EIO;
	char why[160];

	agent->kernel = calloc(1, sizeof(*agent->kernel));
	if (!agent->kernel)
		return -ENOMEM;
	agent->kernel->asked = -1;
	agent->kernel->ops = ops;
	agent->kernel->settings = *settings;
	snprintf(agent->kernel->why, sizeof(agent->kernel->why), "the module is not loaded");
	agent->kernel->call = netlink_open(why);
	if (!agent->kernel->call)
		goto fail;
	agent->kernel->news = netlink_open(why);
	if (!agent->kernel->news)
		goto fail;
	nl_socket_disable_seq_check(agent->kernel->news);
	netlink_want_texts(agent->kernel->call, true);
	/* A safety limit: the kernel normally answers within the send. */
	setsockopt(nl_socket_get_fd(agent->kernel->call), SOL_SOCKET, SO_RCVTIMEO, &limit,
		   sizeof(limit));
	nl_socket_set_nonblocking(agent->kernel->news);
	nl_socket_modify_cb(agent->kernel->news, NL_CB_VALID, NL_CB_CUSTOM, kernel_on_news, agent);
	group = genl_ctrl_resolve_grp(agent->kernel->call, "nlctrl", "notify");
	if (group >= 0)
		nl_socket_add_membership(agent->kernel->news, group);
	err = -ENOMEM;
	snprintf(why, sizeof(why), "out of memory");
	agent->kernel->retry = evtimer_new(agent->base, kernel_on_retry, agent);
	agent->kernel->news_event = agent_watch(agent, nl_socket_get_fd(agent->kernel->news),
						EV_READ | EV_PERSIST, kernel_on_news_event, agent);
	if (!agent->kernel->retry || !agent->kernel->news_event)
		goto fail;
	kernel_attach(agent);
	if (!agent->kernel->family)
		log_info("the module is not loaded: until it is, load is read from /proc and "
			 "execs are not intercepted");
	return 0;

fail:
	log_error("cannot use netlink: %s", why);
	kernel_exit(agent);
	return err;
}

void kernel_exit(struct agent *agent)
{
	if (!agent->kernel)
		return;
	kernel_close_asked(agent);
	kernel_close_agent(agent);
	agent_free_event(&agent->kernel->news_event);
	agent_free_event(&agent->kernel->retry);
	agent->module = false;
	nl_socket_free(agent->kernel->news);
	nl_socket_free(agent->kernel->call);
	free(agent->kernel);
	agent->kernel = NULL;
}

unsigned int kernel_version(struct agent *agent)
{
	return agent->kernel ? agent->kernel->family_version : 0;
}

const char *kernel_trouble(struct agent *agent)
{
	return agent->kernel ? agent->kernel->why : "";
}
