// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "client.h"

#define HOUR 3600
#define DAY (24 * HOUR)
#define SECONDS_MAX (7 * DAY)

/* "90", "90s", "30m", "2h", "1d". */
static int parse_time(const char *text, uint64_t *seconds)
{
	static const char units[] = "smhd";
	static const uint64_t each[] = { 1, 60, HOUR, DAY };
	size_t n = strlen(text);
	const char *unit = n ? strchr(units, text[n - 1]) : NULL;
	char number[32];

	if (!n || n >= sizeof(number))
		return -1;
	strcpy(number, text);
	if (unit)
		number[n - 1] = '\0';
	if (parse_count(number, SECONDS_MAX, seconds))
		return -1;
	*seconds *= unit ? each[unit - units] : 1;
	return *seconds && *seconds <= SECONDS_MAX ? 0 : -1;
}

static void print_time(uint64_t seconds)
{
	if (seconds % HOUR == 0)
		printf("%llu h", (unsigned long long)seconds / HOUR);
	else if (seconds % 60 == 0)
		printf("%llu min", (unsigned long long)seconds / 60);
	else
		printf("%llu s", (unsigned long long)seconds);
}

static void print_invite(const json_t *reply)
{
	const char *host = json_string_value(json_object_get(reply, "host"));

	print_lines("This admits one host%s%s, once, within ", host ? ", " : "", host ?: "");
	print_time(json_integer_value(json_object_get(reply, "seconds")));
	print_lines(". Run there, as root:\n\n  ehctl join --token %s\n\n"
		    "It must be able to reach %s.\n",
		    json_string_value(json_object_get(reply, "token")),
		    json_string_value(json_object_get(reply, "address")));
}

static int run(int argc, char **argv, bool json)
{
	const char *host = NULL;
	uint64_t seconds = HOUR;
	json_t *reply;
	int code;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--for") && i + 1 < argc) {
			if (parse_time(argv[++i], &seconds))
				return bad_usage("--for %s: not a time as 90s, 30m, 2h or 1d, at "
						 "most 7d",
						 argv[i]);
		} else if (!strcmp(argv[i], "--host") && i + 1 < argc) {
			host = argv[++i];
		} else {
			return bad_usage("unknown argument: %s", argv[i]);
		}
	}
	reply = client_ask_text(json_pack("{s:s,s:I,s:s*}", "command", argv[0], "seconds",
					  (json_int_t)seconds, "host", host),
				json, &code);
	if (reply)
		print_invite(reply);
	json_decref(reply);
	return code;
}

const struct command invite_command = {
	.name = "invite",
	.arguments = "[--for TIME] [--host NAME]",
	.help = "make a token with which another host can join\n\n"
		"On the host that has the authority's key, where `ehctl init` was run. The token\n"
		"works once. Anyone who has it can join until then: treat it like a password.\n"
		"  --for TIME   how long it is valid (1h): 90s, 30m, 2h, 1d; at most 7d\n"
		"  --host NAME  for this host only, which may be a member that needs a new\n"
		"               certificate",
	.run = run,
};
