import { modeCommand, type Texts, type Variables } from './environment.ts';
import type { SettingName } from './schema.ts';

/** Settings whose values are never shown. */
const SECRETS: ReadonlySet<SettingName> = new Set([
  'SOURCE_API_KEY',
  'SLUICE_TOKEN',
  'SLUICE_HASH_KEY',
  'ALERT_WEBHOOK_URL',
]);
/** URLs that may contain a key or a password: only their harmless part is shown. */
const URLS: ReadonlySet<SettingName> = new Set(['SOURCE_URL', 'DATABASE_URL', 'READER_DATABASE_URL']);

/** What a message says of a rejected value, to follow the setting's name. */
export function describeRejected(name: SettingName, text: string): string {
  if (SECRETS.has(name)) return 'is invalid (value hidden)';
  if (!URLS.has(name)) return `is "${text}"`;
  const shown = withoutSecrets(text);
  if (shown !== null) return `is "${shown}"`;
  // The scheme is the only part of an unknown kind of URL that certainly holds no secret.
  const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text) ?? [];
  return scheme && URL.canParse(text) ? `begins with ${scheme}` : 'is not a URL (value hidden)';
}

/** A setting's value as `sluice doctor` shows it. */
export function showValue(name: SettingName, value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'not set';
  if (SECRETS.has(name)) return '(set, not shown)';
  return URLS.has(name) ? (withoutSecrets(String(value)) ?? '(set, not shown)') : String(value);
}

/** A web or Postgres URL without password and query, which may hold a key; null for any other text. */
export function withoutSecrets(text: string): string | null {
  if (!URL.canParse(text) || !/^(https?|postgres(ql)?):\/\//i.test(text)) return null;
  const url = new URL(text);
  if (url.password) url.password = '***';
  if (url.protocol.startsWith('http')) url.username = '';
  url.search = '';
  url.hash = '';
  return url.href.replace(/\/$/, '');
}

/** The values to hide from all output: secret settings, and the passwords inside URLs. */
export function findSecrets(texts: Texts): string[] {
  const secrets = [...SECRETS].flatMap(name => texts[name] ?? []);
  for (const text of [...URLS].flatMap(name => texts[name] ?? [])) {
    if (!URL.canParse(text)) continue;
    const { password, searchParams } = new URL(text);
    secrets.push(password, decoded(password), searchParams.get('password') ?? '');
  }
  return secrets.filter(secret => secret !== '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A warning if `.env` holds a secret and every user of the machine may read it. */
export function findPublicKeys({ file, publicTexts }: Variables): string[] {
  const isKey = (name: string) => /_(?:KEY|TOKEN)$/.test(name);
  if (findSecrets(publicTexts).length === 0 && !Object.keys(publicTexts).some(isKey)) return [];
  const advice = `to keep it to yourself: ${modeCommand('o-r', file)}`;
  return [`${file} holds a key, and every user of this machine may read it; ${advice}`];
}
