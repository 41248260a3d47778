/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file files.h
 * How home's files travel: requests of the executor (helpers/ehview), answers and
 * news of home (helpers/ehfiles). One stream is one file system, from one directory.
 *
 *   u32 length of what follows the header
 *   u32 op, in an answer with FILES_ANSWER
 *   u32 tag of the request, chosen by the executor
 *   i32 errno, 0 in a request
 *   the op's fields in the order of enum files_field, little-endian; an answer with an error has none
 *
 * Requests are carried out in their order. Directories have numbers that the executor gives them (FILES_KNOW),
 * FILES_ROOT is the first; so have open files. A file is where HANDLE says, if that is not 0; else NAME in
 * the directory DIR if it still has the inode number INO there, or the directory itself when NAME is empty.
 */
#ifndef WIRE_FILES_H
#define WIRE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILES_HEADER 16
#define FILES_NAME_MAX 255
#define FILES_TEXT_MAX 4095
#define FILES_DATA_MAX (128 << 10) /**< of a read or write */
#define FILES_BODY_MAX (256 << 10)
#define FILES_HEAD_MAX 5120 /**< a message without its data */
#define FILES_ANSWER 0x100
#define FILES_ROOT 1

enum files_op {
	FILES_KNOW = 1, /**< directory OFFSET is NAME in DIR; not answered, like the next */
	FILES_FORGET, /**< directory DIR will not be named any more */
	FILES_LIST, /**< all of DIR, and tell what changes: FILES_WATCHED, FILES_COMPLETE, entries */
	FILES_LOOK, /**< NAME in DIR */
	FILES_STAT,
	FILES_SET, /**< what FLAGS says (FILES_SET_MODE, …) */
	FILES_READLINK,
	FILES_OPEN, /**< as HANDLE2; with data if it is small, and not SIZE long of TIMES (mtime, ctime) */
	FILES_CREATE, /**< NAME in DIR, as HANDLE2 */
	FILES_READ,
	FILES_WRITE, /**< not answered: what fails is told by the next of these two */
	FILES_FLUSH, /**< OWNER's locks go */
	FILES_FSYNC, /**< FLAGS 1: data only */
	FILES_CLOSE, /**< not answered */
	FILES_READDIR, /**< from OFFSET on */
	FILES_MKDIR,
	FILES_MKNOD, /**< SIZE is the device's number */
	FILES_SYMLINK, /**< TEXT is where to */
	FILES_LINK, /**< TEXT in DIR2 becomes it, too */
	FILES_UNLINK,
	FILES_RMDIR,
	FILES_RENAME, /**< to TEXT in DIR2 */
	FILES_STATFS,
	FILES_ACCESS,
	FILES_GETXATTR, /**< named TEXT, like the others */
	FILES_SETXATTR,
	FILES_LISTXATTR,
	FILES_REMOVEXATTR,
	FILES_LOCK, /**< of OWNER: MODE is F_RDLCK, …; FLAGS 1: only ask, answered with the lock that is in the way */
	FILES_FLOCK, /**< MODE is flock()'s, never waits */
	FILES_FALLOCATE,
	FILES_SYNC, /**< all news of what happened before come before the answer */
	FILES_NEWS, /**< home says: NAME in DIR has changed as FLAGS say; DIR 0: all may have. INO of device
		     *   OFFSET: a file with other names, which that may have changed, too; 0: none */
	FILES_OPS
};

enum files_field {
	FILES_F_HANDLE = 1 << 0,
	FILES_F_DIR = 1 << 1,
	FILES_F_INO = 1 << 2,
	FILES_F_HANDLE2 = 1 << 3,
	FILES_F_DIR2 = 1 << 4,
	FILES_F_OFFSET = 1 << 5,
	FILES_F_SIZE = 1 << 6,
	FILES_F_OWNER = 1 << 7,
	FILES_F_FLAGS = 1 << 8,
	FILES_F_MODE = 1 << 9,
	FILES_F_OWNERS = 1 << 10,
	FILES_F_TIMES = 1 << 11,
	FILES_F_ATTR = 1 << 12,
	FILES_F_NAME = 1 << 13,
	FILES_F_TEXT = 1 << 14,
	FILES_F_DATA = 1 << 15, /**< the rest */
};

/** FLAGS of answers. */
#define FILES_WATCHED 1 /**< what changes in this directory is told */
#define FILES_COMPLETE 2 /**< nothing else is in it */
#define FILES_UNSURE 4 /**< changed so lately that its times will not show another change */
#define FILES_DATA 8 /**< its content is here */

/** FLAGS of FILES_NEWS. */
#define FILES_NEWS_NAME 1 /**< it is another file, or none, or one now */
#define FILES_NEWS_ATTR 2 /**< the same file, changed */

/** FLAGS of FILES_SET. */
#define FILES_SET_MODE 1
#define FILES_SET_UID 2
#define FILES_SET_GID 4
#define FILES_SET_SIZE 8
#define FILES_SET_ATIME 16 /**< nsec may be UTIME_NOW, and so below */
#define FILES_SET_MTIME 32

struct files_time {
	int64_t sec;
	uint32_t nsec;
};

struct files_attr {
	uint64_t dev, ino, size, blocks, rdev;
	uint32_t mode, nlink, uid, gid, blksize;
	struct files_time atime, mtime, ctime;
};
#define FILES_ATTR_SIZE (5 * 8 + 5 * 4 + 3 * 12)

/** All fields a message may have; its op says which of them count. */
struct files_message {
	uint32_t op, tag;
	int32_t error;
	uint32_t handle, handle2, flags, mode, uid, gid;
	uint64_t dir, dir2, ino, offset, size, owner;
	struct files_time times[2];
	struct files_attr attr;
	char name[FILES_NAME_MAX + 1]; /**< one component, or empty */
	char text[FILES_TEXT_MAX + 1];
	const uint8_t *data;
	size_t length; /**< of data */
};

/** Header and fields without the data, which has to follow. Returns its length. */
size_t files_encode(uint8_t out[FILES_HEAD_MAX], const struct files_message *m);
/** Length of the message that begins here, header included. 0: its header is not complete; or -EPROTO. */
long files_length(const uint8_t *in, size_t length);
/** One whole message; its data stays where it is. 0 or -EPROTO. */
int files_decode(struct files_message *m, const uint8_t *in, size_t length);

/** An entry of FILES_LIST's data (`attr`), or FILES_READDIR's (ino, type in mode, offset of the next in size). */
struct files_entry {
	struct files_attr attr;
	char name[FILES_NAME_MAX + 1];
};
#define FILES_ENTRY_MAX (FILES_ATTR_SIZE + 2 + FILES_NAME_MAX)

size_t files_entry_encode(uint8_t out[FILES_ENTRY_MAX], const struct files_attr *attr,
			  const char *name);
/** Takes the entry at *at and moves that past it. False: there is none left, or it is malformed. */
bool files_entry_decode(struct files_entry *e, const uint8_t **at, const uint8_t *end);

#endif
