// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "remote.h"
#include "tools/common/common.h"

#define PINGS 5
#define VOLUME ((size_t)256 << 10)
#define PATIENCE_MS 10000 /* a host that says nothing for this long is not usable */
#define MOST 60 /* seconds of one probe */

/* Sends this many bytes through the command, and reads them back by then. 0 or -errno. */
static int echo(int in, int out, size_t length, double until)
{
	static char buffer[16 << 10];
	size_t sent = 0, got = 0;

	while (got < length) {
		struct pollfd p[] = { { out, POLLIN, 0 }, { sent < length ? in : -1, POLLOUT, 0 } };
		size_t piece = length - sent < sizeof(buffer) ? length - sent : sizeof(buffer);
		ssize_t n;
		int ready = poll(p, 2, PATIENCE_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || progress_now() > until)
			return ready < 0 ? -errno : -ETIMEDOUT;
		if (p[1].revents) {
			n = write(in, buffer, piece);
			if (n < 0 && errno != EAGAIN)
				return -errno;
			sent += n > 0 ? n : 0;
		}
		if (p[0].revents) {
			n = read(out, buffer, sizeof(buffer));
			if (n <= 0)
				return n ? -errno : -EPIPE;
			got += n;
		}
	}
	return 0;
}

static int measure(struct cluster_host *host, int in, int out, double began)
{
	double least = INFINITY, until = began + MOST, at;
	int err = echo(in, out, 1, until);

	host->startup = progress_now() - began;
	for (int i = 0; i < PINGS && !err; i++) {
		at = progress_now();
		err = echo(in, out, 1, until);
		least = fmin(least, progress_now() - at);
	}
	if (err)
		return err;
	host->round_trip = least;
	at = progress_now();
	err = echo(in, out, VOLUME, until);
	host->rate = (double)VOLUME / fmax(progress_now() - at - least, 1e-6);
	return err;
}

int probe_host(struct cluster_host *host, const char *view)
{
	char *const argv[] = { (char *)"cat", NULL };
	double began = progress_now(), closed;
	int in[2], out[2], err, status;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		err = -errno;
		goto close_in;
	}
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	pid = remote_start(host, view, argv,
			   &(struct remote_files){ in[0], out[1], STDERR_FILENO });
	close(in[0]);
	close(out[1]);
	in[0] = -1;
	err = pid < 0 ? (int)pid : measure(host, in[1], out[0], began);
	close(in[1]);
	close(out[0]);
	if (pid < 0)
		return err;
	closed = progress_now();
	status = remote_end(pid, err ? 0 : PATIENCE_MS);
	if (!err && progress_now() - closed >= PATIENCE_MS / 1000.0)
		err = -ETIMEDOUT;
	/* the pings may have been slower than the first byte */
	host->startup = fmax(0, host->startup + progress_now() - closed - host->round_trip);
	return err ? err : remote_code(status);

close_in:
	close(in[0]);
	close(in[1]);
	return err;
}

int probe_cluster(struct cluster *c, const char *view)
{
	uint32_t usable = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		struct cluster_host *host = &c->hosts[i];
		int err;

		if (!cluster_usable(host))
			continue;
		progress_show("probing hosts", i, c->n);
		err = probe_host(host, view);
		/* a busy host may be slow to start, but the second time its files are in memory */
		if (!err) {
			struct cluster_host again = *host;

			if (!probe_host(&again, view)) {
				host->startup = fmin(host->startup, again.startup);
				host->round_trip = fmin(host->round_trip, again.round_trip);
				host->rate = fmax(host->rate, again.rate);
			}
		}
		if (err) {
			fail(0, "%s is not used: a command there failed: %s", host->name,
			     err < 0 ? strerror(-err) : "see above");
			host->slots = 0;
			continue;
		}
		usable++;
	}
	progress_show("probing hosts", 1, 1);
	return usable ? 0 : fail(EXIT_REFUSED, "no host can run a command");
}
