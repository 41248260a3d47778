// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl init NAME: the first host of a new cluster. */
#include "ehcert.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "authority.h"
#include "cert/name.h"
#include "eh/topology.h"
#include "files.h"
#include "own.h"

#define INIT_TOPOLOGY "4,2"
#define INIT_TEXT 8192

struct init {
	const char *dir, *host_given, *address_given, *topology_given;
	const char *cluster;
	char path[1024], host[CERT_HOST_MAX + 1], node[EH_CODE_TEXT];
	struct address address;
	struct eh_topology topology;
};

static const struct option_row init_options[] = {
	{ "dir", OPTION_TEXT, offsetof(struct init, dir), "DIR", .help = "" },
	{ "host", OPTION_TEXT, offsetof(struct init, host_given), "NAME", .help = "" },
	{ "address", OPTION_TEXT, offsetof(struct init, address_given), "A[:PORT]", .help = "" },
	{ "topology", OPTION_TEXT, offsetof(struct init, topology_given), "n,l", .help = "" },
	{ 0 },
};

static int init_read(struct init *in, int argc, char **argv)
{
	int code = options_parse(argc, argv, init_options, in);

	if (code)
		return code;
	if (optind + 1 != argc)
		return bad_usage(optind == argc ? "a name for the cluster is required"
						: "one name only");
	in->cluster = argv[optind];
	if (own_check_cluster(in->cluster))
		return EXIT_USAGE;
	if (eh_topology_parse(in->topology_given ?: INIT_TOPOLOGY, &in->topology))
		return bad_usage("--topology %s: not n,l with n from 1 to %d, l from 1 to %d and "
				 "n*l at most 30",
				 in->topology_given, EH_N_MAX, EH_LEVELS_MAX);
	eh_code_format(&in->topology, (struct eh_code){ 0, 0 }, in->node);
	return own_host(in->host_given, in->host, sizeof(in->host))
		       ?: own_address(in->address_given, &in->address);
}

static int init_conf(const struct init *in, struct files *files)
{
	char text[INIT_TEXT];

	snprintf(text, sizeof(text),
		 "# Written by `ehctl init %s`; ehagent.conf(5) explains all settings.\n"
		 "cluster       = \"%s\"\n"
		 "node          = \"%s\"\n"
		 "topology      = \"%u,%u\"\n"
		 "certificate   = \"%s/%s.crt\"\n"
		 "key           = \"%s/%s.key\"\n"
		 "authority     = \"%s/" AUTHORITY_CERT "\"\n"
		 "# this host admits others (ehctl invite)\n"
		 "authority-key = \"%s/" AUTHORITY_KEY "\"\n"
		 "peer \"%s\" { host = \"%s\"  address = \"%s\" }\n",
		 in->cluster, in->cluster, in->node, in->topology.n, in->topology.l, in->path,
		 in->host, in->path, in->host, in->path, in->path, in->node, in->host,
		 in->address.text);
	return files_write(files, "agent.conf", text, true);
}

static int init_fresh(const struct init *in, const struct files *files)
{
	char cert[CERT_HOST_MAX + 8], key[CERT_HOST_MAX + 8];

	snprintf(cert, sizeof(cert), "%s.crt", in->host);
	snprintf(key, sizeof(key), "%s.key", in->host);
	return files_fresh(files, "agent.conf") ?:
		       files_fresh(files, AUTHORITY_CERT) ?:
		       files_fresh(files, AUTHORITY_KEY) ?:
		       files_fresh(files, cert) ?: files_fresh(files, key);
}

static int init_write(const struct init *in, struct files *files)
{
	struct authority a = { 0 };
	int code;

	files_share(files);
	code = authority_make(&a, files, in->cluster, in->host, EHCERT_DAYS);
	if (code)
		return code;
	code = authority_certify(&a, files, in->host, EHCERT_RENEWED) ?: init_conf(in, files);
	authority_free(&a);
	return code;
}

static int init_say(const struct init *in, bool json)
{
	const char *conf = !strcmp(in->path, EHCERT_DIR) ? "" : in->path;

	if (json)
		return json_print_new(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s}", "version", 1,
						"cluster", in->cluster, "host", in->host, "node",
						in->node, "address", in->address.text, "directory",
						in->path));
	print_lines("%s is the first host of cluster %s: node %s at %s, with room for %lu hosts.\n"
		    "%s/" AUTHORITY_KEY " is the key of the cluster's authority: keep it secret.\n",
		    in->host, in->cluster, in->node, in->address.text,
		    1ul << in->topology.n * in->topology.l, in->path);
	if (*conf)
		print_lines("next: ehagent -c %s/agent.conf\n", conf);
	else
		printf("next: systemctl enable --now ehagent\n");
	printf("      ehctl invite              for each other host\n");
	return 0;
}

int init_run(int argc, char **argv, bool json)
{
	struct init in = { .dir = EHCERT_DIR };
	struct files files;
	int code = init_read(&in, argc, argv);

	code = code ?: files_begin(&files, in.dir);
	if (code)
		return code;
	code = own_directory(in.dir, in.path, sizeof(in.path)) ?:
		       init_fresh(&in, &files) ?: init_write(&in, &files);
	return code ? files_undo(&files, code) : init_say(&in, json);
}
