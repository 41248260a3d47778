/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the module, in events/ehsched. States, reasons and verdicts are
 * numbers of uapi/linux/ehsched.h; loads are thousandths of a task; times are
 * nanoseconds; node is the inode number of the network namespace. A sample says
 * how many nodes and threads or processors it looked at, what it counted (runnable
 * threads, or nanoseconds that processors worked) and what it took by the clock.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ehsched

#if !defined(_EHS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _EHS_TRACE_H

#include <linux/ktime.h>
#include <linux/tracepoint.h>
#include <net/net_namespace.h>

#include "compat/compat.h"
#include "node.h"
#include "task.h"

/* laid out as in the whole kernel */
/* clang-format off */
TRACE_EVENT(ehs_arrival,
	TP_PROTO(const struct ehs_node *node, const struct ehs_arrival *arrival),
	TP_ARGS(node, arrival),
	TP_STRUCT__entry(
		__field(u32, node)
		__field(u32, load)
		__field(u64, cookie)
		__field(u32, state)
		__string(path, arrival->path)
	),
	TP_fast_assign(
		__entry->node = node->net->ns.inum;
		__entry->load = arrival->load;
		__entry->cookie = arrival->cookie;
		__entry->state = arrival->state;
		ehs_assign_str(path, arrival->path);
	),
	TP_printk("node=%u cookie=%llu load=%u state=%u path=%s",
		  __entry->node, __entry->cookie, __entry->load, __entry->state, __get_str(path))
);

TRACE_EVENT(ehs_decision,
	TP_PROTO(const struct ehs_node *node, u64 cookie, u32 task_state, u32 reason),
	TP_ARGS(node, cookie, task_state, reason),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u32, node)
		__field(u32, task_state)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->node = node->net->ns.inum;
		__entry->task_state = task_state;
		__entry->reason = reason;
	),
	TP_printk("node=%u cookie=%llu task_state=%u reason=%u",
		  __entry->node, __entry->cookie, __entry->task_state, __entry->reason)
);

TRACE_EVENT(ehs_verdict,
	TP_PROTO(u64 cookie, u32 verdict, u32 reason, u64 waited),
	TP_ARGS(cookie, verdict, reason, waited),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, waited)
		__field(u32, verdict)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->waited = waited;
		__entry->verdict = verdict;
		__entry->reason = reason;
	),
	TP_printk("cookie=%llu verdict=%u reason=%u waited=%llu",
		  __entry->cookie, __entry->verdict, __entry->reason, __entry->waited)
);

TRACE_EVENT(ehs_finish,
	TP_PROTO(const struct ehs_task *rec),
	TP_ARGS(rec),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, lived)
		__field(u32, node)
		__field(u32, task_state)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->cookie = rec->id;
		__entry->lived = ktime_get_ns() - rec->started_at;
		__entry->node = rec->node->net->ns.inum;
		__entry->task_state = rec->state;
		__entry->reason = rec->reason;
	),
	TP_printk("node=%u cookie=%llu task_state=%u reason=%u lived=%llu",
		  __entry->node, __entry->cookie, __entry->task_state, __entry->reason,
		  __entry->lived)
);

TRACE_EVENT(ehs_sample,
	TP_PROTO(u32 index, u32 nodes, u32 threads, u64 counted, bool whole, u64 cost),
	TP_ARGS(index, nodes, threads, counted, whole, cost),
	TP_STRUCT__entry(
		__field(u64, counted)
		__field(u64, cost)
		__field(u32, index)
		__field(u32, nodes)
		__field(u32, threads)
		__field(bool, whole)
	),
	TP_fast_assign(
		__entry->counted = counted;
		__entry->cost = cost;
		__entry->index = index;
		__entry->nodes = nodes;
		__entry->threads = threads;
		__entry->whole = whole;
	),
	TP_printk("index=%u nodes=%u threads=%u counted=%llu whole=%d cost=%llu",
		  __entry->index, __entry->nodes, __entry->threads, __entry->counted,
		  __entry->whole, __entry->cost)
);
/* clang-format on */

#endif /* _EHS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
