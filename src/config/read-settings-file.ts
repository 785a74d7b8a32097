import { closeSync, fstatSync, lstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

interface SettingsFile {
  /** Without a byte order mark; empty where `refused` is not null. */
  readonly text: string;
  /** Why nothing of it is used, with the command that changes that. */
  readonly refused: string | null;
  /** The file may be read by every user of this machine. */
  readonly isPublic: boolean;
}

const OTHERS_WRITE = 0o022;
const OTHERS_READ = 0o004;

/**
 * Reads a file that decides where a key is sent. Whoever can write it can have the key, so it must belong to the user who runs the command
 * or to root, and only its owner may write it. Windows has neither owners nor modes of this kind. Throws where the file cannot be read.
 */
export function readSettingsFile(path: string): SettingsFile {
  const owners = [lstatSync(path), statSync(path)];
  const foreign = owners.find(stats => !isOurs(stats));
  // Not even opened: opening a pipe waits for its writer.
  if (foreign) return { text: '', refused: describeOwner(path, foreign), isPublic: false };
  const file = openSync(path, 'r');
  try {
    const stats = fstatSync(file);
    const refused = whyRefused(path, stats);
    const text = refused === null ? readFileSync(file, 'utf8').replace(/^\uFEFF/, '') : '';
    return { text, refused, isPublic: hasModes(stats) && (stats.mode & OTHERS_READ) !== 0 };
  } finally {
    closeSync(file);
  }
}

/** The owner of a file's folder, if that is neither the user who runs the command nor root: such a user chose what lies in it. */
export function foreignFolderOwner(path: string): number | null {
  const stats = statSync(dirname(path));
  return isOurs(stats) ? null : stats.uid;
}

/** A file's mode as `chmod` takes it, and the command with which `change` is made. */
export const modeCommand = (change: string, path: string): string => `chmod ${change} ${shellWord(path)}`;

function whyRefused(path: string, stats: Stats): string | null {
  if (!isOurs(stats)) return describeOwner(path, stats);
  if (!hasModes(stats) || (stats.mode & OTHERS_WRITE) === 0) return null;
  const mode = `0${(stats.mode & 0o777).toString(8)}`;
  return `${path} may be written by other users (mode ${mode}), who could send your key elsewhere; to use it: ${modeCommand('go-w', path)}`;
}

const describeOwner = (path: string, { uid }: Stats): string =>
  `${path} belongs to another user (id ${uid}), who could send your key elsewhere; to use it, check what it says, then: sudo chown ${process.geteuid?.()} ${shellWord(path)}`;

function isOurs({ uid }: Stats): boolean {
  const me = process.geteuid?.();
  return me === undefined || uid === me || uid === 0;
}

/** A pipe or a device has none that say who may change its content. */
const hasModes = (stats: Stats): boolean => process.geteuid !== undefined && stats.isFile();

const shellWord = (text: string): string => (/^[\w./+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
