// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/fit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/label.h"
#include "base/rule.h"
#include "home/record.h"
#include "net/peer.h"
#include "wire/reason.h"

#define FIT_KEPT_MS 10000 /* a node's labels change with its configuration */

int fit_wish(struct placement *p, const char *given, const char *real)
{
	const struct config *config = p->agent->config;
	struct label_wish wish;

	if (!config->nonly_on && !config->nnever_on)
		return 0;
	if (!label_wish(config, given, real, &wish))
		return -E2BIG;
	if (!label_is_wished(&wish))
		return 0;
	if (!p->wish)
		p->wish = malloc(sizeof(*p->wish));
	if (!p->wish)
		return -ENOMEM;
	*p->wish = wish;
	return 0;
}

int fit_ask(const struct placement *p, json_t *request)
{
	if (!p->wish)
		return 0;
	return json_object_set_new(request, "only_on", label_to_json(&p->wish->only)) ||
			       json_object_set_new(request, "never_on",
						   label_to_json(&p->wish->never))
		       ? -ENOMEM
		       : 0;
}

void fit_learn(const struct placement *p, struct peer *node, const json_t *labels)
{
	if (!p->wish)
		return;
	json_decref(node->labels);
	node->labels = json_is_array(labels) ? json_incref((json_t *)labels) : NULL;
	node->labels_at = clock_ms();
}

bool fit_is_sure(const struct placement *p, const json_t *labels)
{
	struct site_labels its;
	const char *label;

	return !p->wish || (json_is_array(labels) && label_from_json(labels, &its) &&
			    site_labels_fit(&its, &p->wish->only, &p->wish->never, &label));
}

enum ehs_reason fit_trouble(const struct placement *p, const struct peer *node)
{
	char why[RULE_TEXT];

	if (node->self)
		return EHS_REASON_NONE;
	if (!rule_sends_node(p->agent->config, peer_host(node), why))
		return REASON_AWAY_NODE;
	return p->wish && node->labels && clock_ms() - node->labels_at < FIT_KEPT_MS &&
			       !fit_is_sure(p, node->labels)
		       ? REASON_LABELS
		       : EHS_REASON_NONE;
}
