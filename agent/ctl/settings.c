// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/agent.h"
#include "cluster/setting.h"
#include "ctl/socket.h"
#include "node/kernel.h"
#include "node/node.h"

static uint32_t *settings_at(struct node_settings *of, const struct setting *s)
{
	static const size_t at[SETTINGS] = {
		[SETTING_THRESHOLD] = offsetof(struct node_settings, threshold),
		[SETTING_LENGTH] = offsetof(struct node_settings, length),
		[SETTING_LOAD_INDEX] = offsetof(struct node_settings, index),
		[SETTING_WEIGHT] = offsetof(struct node_settings, weight),
		[SETTING_TIME_LIMIT] = offsetof(struct node_settings, time_limit),
		[SETTING_DWELL] = offsetof(struct node_settings, dwell),
	};

	return (uint32_t *)((char *)of + at[s - settings]);
}

/* As a person says it: tasks, milliseconds, or a word. */
static json_t *settings_value(const struct setting *s, uint32_t value)
{
	if (!s->scale)
		return json_string(value <= s->max ? s->choices[value] : "?");
	return s->scale == 1 ? json_integer(value) : json_real((double)value / s->scale);
}

/* Returns NULL, or the error to reply. */
static json_t *settings_take_word(uint32_t *to, const struct setting *s, const json_t *value)
{
	const char *text = json_string_value(value);
	char why[96] = "must be ";

	for (uint32_t i = 0; i <= s->max; i++) {
		if (text && !strcmp(text, s->choices[i])) {
			*to = i;
			return NULL;
		}
		snprintf(why + strlen(why), sizeof(why) - strlen(why), "%s%s",
			 !i	       ? ""
			 : i == s->max ? " or "
				       : ", ",
			 s->choices[i]);
	}
	return ctl_error(s->name, why, true);
}

/* The same. Numbers of ehctl are in thousandths of tasks and in milliseconds. */
static json_t *settings_take(struct node_settings *set, const char *name, const json_t *value)
{
	const struct setting *s = setting_find(name);
	json_int_t n = json_integer_value(value);
	char why[SETTING_NAMES + 32], names[SETTING_NAMES];

	if (!s) {
		snprintf(why, sizeof(why), "no such setting (%s)", setting_names(names));
		return ctl_error(name, why, true);
	}
	if (!s->scale)
		return settings_take_word(settings_at(set, s), s, value);
	if (!json_is_integer(value) || n < s->min || n > s->max) {
		snprintf(why, sizeof(why), "must be a number from %.15g to %.15g",
			 (double)s->min / s->scale, (double)s->max / s->scale);
		return ctl_error(name, why, true);
	}
	*settings_at(set, s) = n;
	return NULL;
}

/* What was asked for, as it was and as it is. */
static json_t *settings_changed(struct agent *agent, const json_t *request,
				struct node_settings *before)
{
	struct node_settings now = *node_settings(agent);
	json_t *list = json_array();
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)request, name, value) {
		const struct setting *s = setting_find(name);

		if (s)
			json_array_append_new(
				list, json_pack("{s:s,s:o,s:o}", "name", name, "before",
						settings_value(s, *settings_at(before, s)), "value",
						settings_value(s, *settings_at(&now, s))));
	}
	return json_pack("{s:i,s:o}", "version", 1, "settings", list);
}

void settings_set(struct ctl_conn *c, const json_t *request)
{
	struct agent *agent = ctl_agent(c);
	struct node_settings before = *node_settings(agent), set = before;
	json_t *error = NULL, *value;
	const char *name;
	char why[160];
	int n = 0;

	json_object_foreach((json_t *)request, name, value) {
		if (!strcmp(name, "command") || error)
			continue;
		error = settings_take(&set, name, value);
		n++;
	}
	if (!error && !n)
		error = ctl_error("set", "nothing to set", true);
	if (!error && set.time_limit != before.time_limit &&
	    set.time_limit > kernel_time_limit_max(agent)) {
		snprintf(why, sizeof(why), "must be at most %u ms: ehlaunch allows no more",
			 kernel_time_limit_max(agent));
		error = ctl_error("time-limit", why, true);
	}
	if (!error && node_set(agent, &set, why))
		error = ctl_error("set", why, false);
	ctl_reply(c, error ?: settings_changed(agent, request, &before));
}

static json_t *settings_show(struct agent *agent, const struct setting *s)
{
	struct node_settings now = *node_settings(agent);
	uint32_t max = s == &settings[SETTING_TIME_LIMIT] ? kernel_time_limit_max(agent) : s->max;
	json_t *choices = json_array();

	for (unsigned int i = 0; s->choices[i]; i++)
		json_array_append_new(choices, json_string(s->choices[i]));
	return json_pack("{s:s,s:o,s:s?,s:o,s:o,s:o}", "name", s->name, "value",
			 settings_value(s, *settings_at(&now, s)), "unit", s->unit, "min",
			 s->scale ? settings_value(s, s->min) : json_null(), "max",
			 s->scale ? settings_value(s, max) : json_null(), "choices", choices);
}

void settings_get(struct ctl_conn *c, const json_t *request)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < SETTINGS; i++)
		json_array_append_new(list, settings_show(ctl_agent(c), &settings[i]));
	ctl_reply(c, json_pack("{s:i,s:o}", "version", 1, "settings", list));
}
