// SPDX-License-Identifier: GPL-2.0-or-later
/* Execs that wait for a verdict: the module's requests, and the answers to them. */

#include "node/kernel_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <linux/ehsched.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "node/kernel.h"
#include "node/netlink.h"
#include "wire/reason.h"

void kernel_verdict(struct agent *agent, uint64_t cookie, bool remote, enum ehs_reason reason)
{
	char handle[24];
	struct nl_msg *msg;

	if (!agent->kernel || !agent->kernel->agent)
		return;
	/* No ACK: only a refusal matters, and the kernel sends that anyway. */
	msg = kernel_message(agent, EHS_CMD_PLACE_VERDICT, NLM_F_REQUEST);
	if (!msg)
		return; /* the exec waits until its time limit */
	nla_put_u64(msg, EHS_A_PLACE_COOKIE, cookie);
	nla_put_u32(msg, EHS_A_PLACE_VERDICT, remote ? EHS_VERDICT_REMOTE : EHS_VERDICT_LOCAL);
	/*
	 * The kernel saw a sender. The threshold has been raised since, because no node could
	 * take the task.
	 */
	if (reason == EHS_REASON_NOT_SENDER)
		reason = EHS_REASON_NO_RECEIVER;
	reason = reason_for_kernel(reason, remote);
	/* The kernel counts its own reasons and rejects them in verdicts. */
	if (reason != EHS_REASON_NONE && !reason_is_kernels(reason))
		nla_put_u32(msg, EHS_A_PLACE_REASON, reason);
	/* It becomes an argument of the stub, which everybody can read: no secret. */
	snprintf(handle, sizeof(handle), "%llu", (unsigned long long)cookie);
	if (remote)
		nla_put_string(msg, EHS_A_PLACE_TOKEN, handle);
	if (nl_send_auto(agent->kernel->agent, msg) < 0)
		log_warning("cannot send a verdict to the kernel; the task continues at home");
	nlmsg_free(msg);
}

static void kernel_on_request(struct agent *agent, struct nlmsghdr *h)
{
	struct nlattr *a[EHS_A_PLACE_MAX + 1];
	struct kernel_request task = { 0 };

	if (!genlmsg_valid_hdr(h, 0) || genlmsg_hdr(h)->cmd != EHS_CMD_PLACE_REQUEST ||
	    genlmsg_parse(h, 0, a, EHS_A_PLACE_MAX, NULL) || !a[EHS_A_PLACE_COOKIE] ||
	    !a[EHS_A_PLACE_PID] || !a[EHS_A_PLACE_PATH] || !a[EHS_A_PLACE_TIME_LIMIT])
		return;
	task.cookie = nla_get_u64(a[EHS_A_PLACE_COOKIE]);
	task.pid = nla_get_u32(a[EHS_A_PLACE_PID]);
	task.path = nla_get_string(a[EHS_A_PLACE_PATH]);
	task.time_ms = nla_get_u32(a[EHS_A_PLACE_TIME_LIMIT]);
	if (a[EHS_A_PLACE_UID])
		task.uid = nla_get_u32(a[EHS_A_PLACE_UID]);
	/* The load with which the kernel found this node a sender; ours may be older. */
	if (a[EHS_A_PLACE_LOAD])
		agent->kernel->ops->loaded(agent, nla_get_u32(a[EHS_A_PLACE_LOAD]));
	agent->kernel->ops->place(agent, &task);
}

/* The kernel refused a verdict: our message follows the error. */
static void kernel_on_verdict_error(struct agent *agent, const struct nlmsghdr *h)
{
	struct nlmsgerr *e = nlmsg_data(h);
	struct nlattr *a[EHS_A_PLACE_MAX + 1];
	char text[160];

	if (h->nlmsg_len < NLMSG_HDRLEN + sizeof(*e) ||
	    e->msg.nlmsg_type != agent->kernel->family ||
	    h->nlmsg_len < NLMSG_HDRLEN + sizeof(e->error) + e->msg.nlmsg_len ||
	    genlmsg_parse(&e->msg, 0, a, EHS_A_PLACE_MAX, NULL) || !a[EHS_A_PLACE_COOKIE])
		return;
	/* Another socket has been registered since, ours or another agent's: the exec asks there. */
	if (e->error == -EPERM)
		return;
	netlink_refusal_text(e, text);
	if (e->error != -ENOENT)
		log_warning("the kernel refused a verdict: %s", *text ? text : strerror(-e->error));
	agent->kernel->ops->too_late(agent, nla_get_u64(a[EHS_A_PLACE_COOKIE]));
}

static void kernel_on_datagram(struct agent *agent, unsigned char *bytes, int n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)bytes;

	for (; agent->kernel->agent && nlmsg_ok(h, n); h = nlmsg_next(h, &n)) {
		if (h->nlmsg_type == NLMSG_ERROR)
			kernel_on_verdict_error(agent, h);
		else if (h->nlmsg_type == agent->kernel->family)
			kernel_on_request(agent, h);
	}
}

void kernel_on_agent(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	unsigned char *bytes;
	int i, n;

	/* A limited number, so that other events get their turn. */
	for (i = 0; i < 32 && agent->kernel->agent; i++) {
		n = netlink_next(agent->kernel->agent, &agent->kernel->late, &bytes);
		/* Execs whose requests were lost run here after their time limit. */
		if (n == -NLE_NOMEM)
			log_warning("placement requests were lost: the netlink buffer was full");
		else if (n < 0)
			return;
		if (n > 0) {
			kernel_on_datagram(agent, bytes, n);
			free(bytes);
		}
	}
	kernel_wake(agent);
}
