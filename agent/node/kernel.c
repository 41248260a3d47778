// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Netlink side. Three sockets: `call` for requests, which the kernel answers
 * while they are sent; `news` for multicasts (families come and go, the node's
 * state); `agent`, which is registered and gets placement requests. The module
 * may be loaded, removed and loaded again while we run.
 */

#include "node/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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
#include "base/log.h"
#include "home/placement.h"
#include "home/record.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "node/node.h"
#include "wire/view.h"

#define KERNEL_BUFFER (4 << 20) /* of the agent socket: each waiting exec is one message */
#define KERNEL_RETRY_MS 1000

static struct nl_sock *kernel_call, *kernel_news, *kernel_agent;
static struct event *kernel_news_event, *kernel_agent_event, *kernel_retry;
static int kernel_family;
static unsigned int kernel_family_version;
static char kernel_why[160];

struct kernel_error {
	int error; /* -errno */
	char text[160]; /* the kernel's words, or "" */
};

static int kernel_on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct kernel_error *to = arg;
	struct nlattr *attr;
	int left;

	to->error = e->error;
	if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
		/* the socket has NETLINK_CAP_ACK: what follows are the texts, not our message */
		attr = (struct nlattr *)(e + 1);
		left = (char *)h + h->nlmsg_len - (char *)attr;
		for (; nla_ok(attr, left); attr = nla_next(attr, &left))
			if (nla_type(attr) == NLMSGERR_ATTR_MSG)
				snprintf(to->text, sizeof(to->text), "%.*s", nla_len(attr),
					 (char *)nla_data(attr));
	}
	return NL_STOP;
}

static int kernel_on_done(struct nl_msg *msg, void *arg)
{
	return NL_STOP;
}

struct nl_msg *kernel_message(uint8_t cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg)
		return NULL;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, kernel_family, 0, flags, cmd,
			 EHS_FAMILY_VERSION)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

/* Sends on a socket and takes the answer. Frees the message. 0 or the kernel's -errno. */
static int kernel_do(struct nl_sock *sk, struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx,
		     char why[160])
{
	struct kernel_error error = { 0 };
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err;

	if (why)
		why[0] = '\0';
	if (!cb || !msg) {
		nl_cb_put(cb);
		nlmsg_free(msg);
		return -ENOMEM;
	}
	nl_cb_err(cb, NL_CB_CUSTOM, kernel_on_error, &error);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, kernel_on_done, NULL);
	if (each)
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, each, ctx);
	err = nl_send_auto(sk, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	if (error.error) {
		if (why)
			snprintf(why, 160, "%s", *error.text ? error.text : strerror(-error.error));
		return error.error;
	}
	if (err < 0) {
		if (why)
			snprintf(why, 160, "netlink: %s", nl_geterror(err));
		return -EIO;
	}
	return 0;
}

/* ---- requests ---- */

int kernel_ask(struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx)
{
	if (kernel_family)
		return kernel_do(kernel_call, msg, each, ctx, NULL);
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

int kernel_get(struct node_view *view)
{
	return kernel_ask(kernel_message(EHS_CMD_NODE_GET, NLM_F_REQUEST), kernel_on_node, view);
}

static int kernel_put_settings(struct nl_msg *msg, const struct node_settings *set)
{
	return nla_put_u32(msg, EHS_A_NODE_THRESHOLD, set->threshold) ||
			       nla_put_u32(msg, EHS_A_NODE_THRESHOLD_LENGTH, set->length) ||
			       nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, set->index) ||
			       nla_put_u32(msg, EHS_A_NODE_WEIGHT, set->weight) ||
			       nla_put_u32(msg, EHS_A_NODE_TIME_LIMIT, set->time_limit) ||
			       nla_put_u32(msg, EHS_A_NODE_DWELL, set->dwell)
		       ? -ENOMEM
		       : 0;
}

int kernel_set(const struct node_settings *set, char why[160])
{
	struct nl_msg *msg;

	if (!kernel_family)
		return -ENOTCONN;
	msg = kernel_message(EHS_CMD_NODE_SET, NLM_F_REQUEST | NLM_F_ACK);
	if (msg && kernel_put_settings(msg, set)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return kernel_do(kernel_call, msg, NULL, NULL, why);
}

static int kernel_set_all(char why[160])
{
	struct nl_msg *msg = kernel_message(EHS_CMD_NODE_SET, NLM_F_REQUEST | NLM_F_ACK);
	int managed = cgroup_managed_fd(), guest = cgroup_guest_fd();

	if (msg && (kernel_put_settings(msg, node_settings()) ||
		    nla_put_flag(msg, EHS_A_NODE_CLEAR_CGROUPS) ||
		    (managed >= 0 && nla_put_u32(msg, EHS_A_NODE_MANAGED_CGROUP_FD, managed)) ||
		    (guest >= 0 && nla_put_u32(msg, EHS_A_NODE_GUEST_CGROUP_FD, guest)))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return kernel_do(kernel_call, msg, NULL, NULL, why);
}

struct kernel_counting {
	void (*each)(void *ctx, uint32_t reason, uint64_t count);
	void *ctx;
};

static int kernel_on_counters(struct nl_msg *msg, void *arg)
{
	struct nlattr *a[EHS_A_COUNTER_MAX + 1], *pos;
	struct kernel_counting *counting = arg;
	int left;

	nlmsg_for_each_attr(pos, nlmsg_hdr(msg), GENL_HDRLEN, left) {
		if (nla_type(pos) != EHS_A_NODE_COUNTER ||
		    nla_parse_nested(a, EHS_A_COUNTER_MAX, pos, NULL) || !a[EHS_A_COUNTER_REASON] ||
		    !a[EHS_A_COUNTER_COUNT])
			continue;
		counting->each(counting->ctx, nla_get_u32(a[EHS_A_COUNTER_REASON]),
			       nla_get_u64(a[EHS_A_COUNTER_COUNT]));
	}
	return NL_OK;
}

int kernel_counters(void (*each)(void *ctx, uint32_t reason, uint64_t count), void *ctx)
{
	struct kernel_counting counting = { each, ctx };

	return kernel_ask(kernel_message(EHS_CMD_NODE_GET, NLM_F_REQUEST), kernel_on_counters,
			  &counting);
}

/* ---- placements ---- */

static void kernel_verdict(uint64_t cookie, const char *token, enum ehs_reason reason)
{
	struct nl_msg *msg;

	if (!kernel_agent)
		return;
	/* no ACK: only a refusal is news, and it comes without being asked for */
	msg = kernel_message(EHS_CMD_PLACE_VERDICT, NLM_F_REQUEST);
	if (!msg)
		return; /* the exec's time limit ends its wait */
	nla_put_u64(msg, EHS_A_PLACE_COOKIE, cookie);
	nla_put_u32(msg, EHS_A_PLACE_VERDICT, token ? EHS_VERDICT_REMOTE : EHS_VERDICT_LOCAL);
	/* To the kernel it was a sender: its threshold was raised, as nobody could take the task. */
	if (reason == EHS_REASON_NOT_SENDER)
		reason = EHS_REASON_NO_RECEIVER;
	/* the kernel counts its own reasons itself and takes none of them from us */
	if (reason > EHS_REASON_REDIRECT)
		nla_put_u32(msg, EHS_A_PLACE_REASON, reason);
	if (token)
		nla_put_string(msg, EHS_A_PLACE_TOKEN, token);
	if (nl_send_auto(kernel_agent, msg) < 0)
		log_warning("a verdict could not be sent to the kernel; the task goes on at home");
	nlmsg_free(msg);
}

static void kernel_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
			   enum ehs_reason reason)
{
	kernel_verdict(placement_cookie(p), to ? token : NULL, reason);
}

static int kernel_on_request(struct nl_msg *msg, void *arg)
{
	struct nlattr *a[EHS_A_PLACE_MAX + 1];
	struct placement_task task = { 0 };

	if (genlmsg_hdr(nlmsg_hdr(msg))->cmd != EHS_CMD_PLACE_REQUEST ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, a, EHS_A_PLACE_MAX, NULL) || !a[EHS_A_PLACE_COOKIE] ||
	    !a[EHS_A_PLACE_PID] || !a[EHS_A_PLACE_PATH] || !a[EHS_A_PLACE_TIME_LIMIT])
		return NL_SKIP;
	task.cookie = nla_get_u64(a[EHS_A_PLACE_COOKIE]);
	task.pid = nla_get_u32(a[EHS_A_PLACE_PID]);
	task.path = nla_get_string(a[EHS_A_PLACE_PATH]);
	task.time_ms = nla_get_u32(a[EHS_A_PLACE_TIME_LIMIT]);
	if (a[EHS_A_PLACE_UID])
		task.uid = nla_get_u32(a[EHS_A_PLACE_UID]);
	if (a[EHS_A_PLACE_CGROUP_ID])
		task.cgroup_id = nla_get_u64(a[EHS_A_PLACE_CGROUP_ID]);
	if (a[EHS_A_PLACE_LOAD]) {
		struct node_view view = *node_view();

		/* by this load it is a sender; ours may be older */
		view.load = nla_get_u32(a[EHS_A_PLACE_LOAD]);
		node_seen(&view);
	}
	if (placement_start(&task, kernel_decided, NULL))
		kernel_verdict(task.cookie, NULL, EHS_REASON_NONE);
	return NL_OK;
}

/* The kernel refused a verdict: it sends our message back behind the error. */
static int kernel_on_verdict_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct nlattr *a[EHS_A_PLACE_MAX + 1];

	if (e->msg.nlmsg_type != kernel_family ||
	    h->nlmsg_len < NLMSG_HDRLEN + sizeof(e->error) + e->msg.nlmsg_len ||
	    genlmsg_parse(&e->msg, 0, a, EHS_A_PLACE_MAX, NULL) || !a[EHS_A_PLACE_COOKIE])
		return NL_SKIP;
	if (e->error != -ENOENT)
		log_warning("the kernel refused a verdict: %s", strerror(-e->error));
	placement_too_late(nla_get_u64(a[EHS_A_PLACE_COOKIE]));
	return NL_SKIP;
}

static void kernel_on_agent(evutil_socket_t fd, short what, void *arg)
{
	/* not without end: other events want their turn */
	for (int i = 0; i < 32; i++) {
		int err = nl_recvmsgs_default(kernel_agent);

		if (err == -NLE_AGAIN)
			return;
		/* what was lost goes on at home when its time limit is over */
		if (err == -NLE_NOMEM)
			log_warning("placement requests were lost: the netlink buffer was full");
		else if (err < 0)
			return;
		if (!kernel_agent)
			return;
	}
}

/* ---- the module comes and goes ---- */

static void kernel_close_agent(void)
{
	if (kernel_agent_event)
		event_free(kernel_agent_event);
	kernel_agent_event = NULL;
	nl_socket_free(kernel_agent);
	kernel_agent = NULL;
}

static void kernel_want_texts(struct nl_sock *sk, int on)
{
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
}

static int kernel_register(char why[160])
{
	struct nl_msg *msg;
	int err, size = KERNEL_BUFFER;

	snprintf(why, 160, "no memory");
	kernel_agent = nl_socket_alloc();
	if (!kernel_agent)
		return -ENOMEM;
	nl_socket_disable_seq_check(kernel_agent);
	nl_socket_disable_auto_ack(kernel_agent);
	err = genl_connect(kernel_agent);
	if (err) {
		snprintf(why, 160, "netlink: %s", nl_geterror(err));
		err = -EIO;
		goto close_agent;
	}
	/* as root beyond the limit of ordinary users; else it stays as it is */
	setsockopt(nl_socket_get_fd(kernel_agent), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	msg = kernel_message(EHS_CMD_AGENT_REGISTER, NLM_F_REQUEST | NLM_F_ACK);
	if (msg && nla_put_string(msg, EHS_A_AGENT_STUB, the_agent.config->stub)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	kernel_want_texts(kernel_agent, true);
	err = kernel_do(kernel_agent, msg, NULL, NULL, why);
	if (err)
		goto close_agent;
	/* from now an error is to come with the verdict it is about */
	kernel_want_texts(kernel_agent, false);
	nl_socket_set_nonblocking(kernel_agent);
	nl_socket_modify_cb(kernel_agent, NL_CB_VALID, NL_CB_CUSTOM, kernel_on_request, NULL);
	nl_socket_modify_err_cb(kernel_agent, NL_CB_CUSTOM, kernel_on_verdict_error, NULL);
	kernel_agent_event = event_new(the_agent.base, nl_socket_get_fd(kernel_agent),
				       EV_READ | EV_PERSIST, kernel_on_agent, NULL);
	if (!kernel_agent_event) {
		err = -ENOMEM;
		goto close_agent;
	}
	event_add(kernel_agent_event, NULL);
	return 0;

close_agent:
	kernel_close_agent();
	return err;
}

static void kernel_detach(void)
{
	bool was = the_agent.module;

	kernel_family = 0;
	kernel_family_version = 0;
	the_agent.module = false;
	kernel_close_agent();
	snprintf(kernel_why, sizeof(kernel_why), "the module is not loaded");
	if (!was)
		return;
	log_warning("the module has gone: load comes from /proc now, execs are not intercepted");
	node_module_changed();
}

static void kernel_attach(void)
{
	const struct timeval retry = { KERNEL_RETRY_MS / 1000, 0 };
	char why[160];
	struct genl_family *family;
	struct nl_cache *cache;
	int group;

	kernel_family = genl_ctrl_resolve(kernel_call, EHS_FAMILY_NAME);
	if (kernel_family < 0) {
		kernel_family = 0;
		return;
	}
	kernel_family_version = EHS_FAMILY_VERSION;
	if (!genl_ctrl_alloc_cache(kernel_call, &cache)) {
		family = genl_ctrl_search(cache, kernel_family);
		if (family) {
			kernel_family_version = genl_family_get_version(family);
			nl_object_put((struct nl_object *)family);
		}
		nl_cache_free(cache);
	}
	group = genl_ctrl_resolve_grp(kernel_call, EHS_FAMILY_NAME, EHS_MCGRP_NODE);
	if (group >= 0)
		nl_socket_add_membership(kernel_news, group);
	if (kernel_set_all(why) || kernel_register(why)) {
		if (strcmp(why, kernel_why))
			log_warning("the module is loaded, but refuses us: %s; trying again", why);
		memcpy(kernel_why, why, sizeof(kernel_why));
		evtimer_add(kernel_retry, &retry);
		return;
	}
	kernel_why[0] = '\0';
	the_agent.module = true;
	log_info("registered with the module (family version %u)", kernel_family_version);
	node_module_changed();
}

static void kernel_on_retry(evutil_socket_t fd, short what, void *arg)
{
	if (!the_agent.module)
		kernel_attach();
}

static int kernel_on_news(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct nlattr *a[CTRL_ATTR_MAX + 1];
	struct node_view view;

	if (h->nlmsg_type == kernel_family && kernel_family) {
		if (kernel_on_node(msg, &view) == NL_OK)
			node_seen(&view);
		return NL_OK;
	}
	if (h->nlmsg_type != GENL_ID_CTRL || genlmsg_parse(h, 0, a, CTRL_ATTR_MAX, NULL) ||
	    !a[CTRL_ATTR_FAMILY_NAME] ||
	    strcmp(nla_get_string(a[CTRL_ATTR_FAMILY_NAME]), EHS_FAMILY_NAME))
		return NL_OK;
	if (genlmsg_hdr(h)->cmd == CTRL_CMD_DELFAMILY)
		kernel_detach();
	else if (genlmsg_hdr(h)->cmd == CTRL_CMD_NEWFAMILY && !the_agent.module)
		kernel_attach();
	return NL_OK;
}

static void kernel_on_news_event(evutil_socket_t fd, short what, void *arg)
{
	for (int i = 0; i < 32; i++) {
		int err = nl_recvmsgs_default(kernel_news);

		if (err == -NLE_NOMEM) {
			/* something was lost: look how things are */
			if (genl_ctrl_resolve(kernel_call, EHS_FAMILY_NAME) < 0)
				kernel_detach();
			else if (!the_agent.module)
				kernel_attach();
			else
				node_refresh();
		} else if (err < 0) {
			return;
		}
	}
}

int kernel_init(void)
{
	const struct timeval limit = { 2, 0 };
	int group, err = -ENOMEM;

	snprintf(kernel_why, sizeof(kernel_why), "the module is not loaded");
	kernel_call = nl_socket_alloc();
	kernel_news = nl_socket_alloc();
	kernel_retry = evtimer_new(the_agent.base, kernel_on_retry, NULL);
	if (!kernel_call || !kernel_news || !kernel_retry)
		goto fail;
	nl_socket_disable_auto_ack(kernel_call);
	nl_socket_disable_seq_check(kernel_news);
	nl_socket_disable_auto_ack(kernel_news);
	err = -EPROTONOSUPPORT;
	if (genl_connect(kernel_call) || genl_connect(kernel_news))
		goto fail;
	kernel_want_texts(kernel_call, true);
	/* the kernel answers while we send; this is for kernels that do not */
	setsockopt(nl_socket_get_fd(kernel_call), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	nl_socket_set_nonblocking(kernel_news);
	nl_socket_modify_cb(kernel_news, NL_CB_VALID, NL_CB_CUSTOM, kernel_on_news, NULL);
	group = genl_ctrl_resolve_grp(kernel_call, "nlctrl", "notify");
	if (group >= 0)
		nl_socket_add_membership(kernel_news, group);
	err = -ENOMEM;
	kernel_news_event = event_new(the_agent.base, nl_socket_get_fd(kernel_news),
				      EV_READ | EV_PERSIST, kernel_on_news_event, NULL);
	if (!kernel_news_event)
		goto fail;
	event_add(kernel_news_event, NULL);
	kernel_attach();
	if (!kernel_family)
		log_info(
			"the module is not loaded: load comes from /proc, execs are not intercepted "
			"until it is");
	return 0;

fail:
	log_error("netlink is not usable: %s", strerror(-err));
	kernel_exit();
	return err;
}

void kernel_exit(void)
{
	kernel_close_agent();
	if (kernel_news_event)
		event_free(kernel_news_event);
	if (kernel_retry)
		event_free(kernel_retry);
	kernel_news_event = kernel_retry = NULL;
	nl_socket_free(kernel_news);
	nl_socket_free(kernel_call);
	kernel_news = kernel_call = NULL;
}

unsigned int kernel_version(void)
{
	return kernel_family_version;
}

const char *kernel_trouble(void)
{
	return kernel_why;
}
