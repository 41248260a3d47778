/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file folder.h
 * A cgroup that ehlaunch has made: it is removed when it is empty, and what is left of a guest is killed
 * when its end has gone, whoever is there to ask for it.
 */
#ifndef EHLAUNCH_FOLDER_H
#define EHLAUNCH_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include "wire/launch.h"

#define FOLDER_NOBODY ((uid_t)-1) /**< not a session, or it is not known whose */

struct folder;

/** A descriptor that is readable when folders_take() has something to do, or -errno. */
int folders_open(void);
/** Removes cgroups that are empty, and kills guests whose end has gone. */
void folders_take(void);
/** After how many ms folders_take() is to be called in any case; -1: never. */
int folders_wait_ms(void);
/** How many there are in the directory `above` that are this user's; FOLDER_NOBODY: of guests. */
unsigned int folders_count(int above, uid_t uid);

/** The directory above/id: a descriptor, or -1 with errno. */
int folder_open(int above, const char *id);
/** The same, to read what is in it. */
DIR *folder_list(int above, const char *id);
/** What is noted on a directory (LAUNCH_NOTE_END, …). Returns whether anything is; else the text is empty, and errno
 *  says why. */
bool folder_note(int folder, const char *name, char text[LAUNCH_NOTE_PROCESS]);
/** Writes to a file of a cgroup. 0 or -errno. */
int folder_write(int folder, const char *name, const char *text);
/** Kills all that is in the cgroup above/id. 0, -ENOENT: there is none, or not with this kernel, or another -errno. */
int folder_kill(int above, const char *id);

/** Begins to watch above/id, which may be empty: folder_look() follows. NULL: out of memory or descriptors. */
struct folder *folder_watch(int above, const char *id, uid_t uid);
/** NULL: it is not watched. */
struct folder *folder_find(int above, const char *id);
/** If it is empty it is removed, and `f` is no more. */
void folder_look(struct folder *f);
/** A guest goes on as long as this process, its ehguest, in place of an earlier one. Takes over `pidfd`. */
void folder_end(struct folder *f, pid_t pid, int pidfd);
/** The same for a guest of an earlier ehlaunch: its note says which process it is. */
void folder_end_again(struct folder *f);

#endif
