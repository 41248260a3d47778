// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/label.h"

#include "base/config_data.h"

void label_own(const struct config *config, struct site_labels *out)
{
	*out = (struct site_labels){ 0 };
	for (size_t i = 0; i < config->nlabels; i++)
		site_labels_add(out, config->labels[i]);
}

bool label_wish(const struct config *config, const char *given, const char *real,
		struct label_wish *out)
{
	return site_labels_of(config->only_on, config->nonly_on, given, real, &out->only) &&
	       site_labels_of(config->never_on, config->nnever_on, given, real, &out->never);
}

json_t *label_to_json(const struct site_labels *labels)
{
	json_t *list = json_array();

	for (size_t i = 0; i < labels->n; i++)
		json_array_append_new(list, json_string(labels->label[i]));
	return list;
}

bool label_from_json(const json_t *json, struct site_labels *out)
{
	const json_t *item;
	size_t i;

	*out = (struct site_labels){ 0 };
	if (json && !json_is_array(json))
		return false;
	json_array_foreach((json_t *)json, i, item) {
		if (!site_labels_add(out, json_string_value(item) ?: ""))
			return false;
	}
	return true;
}
