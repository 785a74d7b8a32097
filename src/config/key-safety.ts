import { type RawSettings, settingTexts } from './environment.ts';
import { foreignFolderOwner, modeCommand } from './read-settings-file.ts';
import { findSecrets } from './redaction.ts';
import type { SourcesFile } from './sources-file.ts';

/**
 * Keys of the environment that a file in somebody else's folder would send to an address of its choice. The file belongs to the user or to
 * root, but whoever owns the folder chose that it lies there. See docs/decisions/0011.
 */
export function findRedirectedKeys({ file, originOf, textOf }: RawSettings, sources: SourcesFile | null): string[] {
  const keys = sources
    ? sources.entries.map(({ fields }) => fields.api_key_from).filter(name => typeof name === 'string')
    : ['SOURCE_API_KEY'];
  const key = keys.find(name => textOf(name) !== undefined && originOf(name) === 'environment');
  const address = sources?.path ?? (originOf('SOURCE_URL') === '.env' ? file : null);
  if (key === undefined || address === null) return [];
  const owner = foreignFolderOwner(address);
  if (owner === null) return [];
  const both = sources ? `${key} in a .env file beside it` : 'SOURCE_URL in the environment too';
  return [
    `${address} lies in a folder of another user (id ${owner}) and would send ${key}, which the environment sets, to an address that it names; to use it, set ${both}, or move it to a folder of your own.`,
  ];
}

/** A warning if `.env` holds a secret and every user of the machine may read it. */
export function findPublicKeys({ file, publicValues }: RawSettings): string[] {
  const isSet = (name: string) => Boolean(publicValues[name]?.trim());
  const secrets = findSecrets(settingTexts({ textOf: name => publicValues[name]?.trim() || undefined }));
  const holdsKey =
    secrets.length > 0 || Object.keys(publicValues).some(name => /_(?:KEY|TOKEN)$/.test(name) && isSet(name));
  return holdsKey
    ? [
        `${file} holds a key, and every user of this machine may read it; to keep it to yourself: ${modeCommand('o-r', file)}`,
      ]
    : [];
}
