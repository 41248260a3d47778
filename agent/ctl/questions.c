// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/questions.h"

#include <string.h>

#include "ctl/past.h"
#include "ctl/survey.h"
#include "ctl/tasks.h"
#include "ctl/watchers.h"
#include "ctl/why.h"

static const struct survey_kind *const questions_kinds[] = { &tasks_kind,	&past_kind,
							     &past_groups_kind, &past_hours_kind,
							     &watchers_kind,	&why_kind };

void questions_on_request(struct agent *agent, struct peer *from, const json_t *body,
			  struct server_answer *answer)
{
	const char *what = json_string_value(json_object_get(body, "what"));
	const struct survey_kind *kind = NULL;

	for (size_t i = 0; what && i < sizeof(questions_kinds) / sizeof(*questions_kinds); i++)
		if (!strcmp(what, questions_kinds[i]->what))
			kind = questions_kinds[i];
	survey_answer(agent, from, kind, body, answer);
}
