import { nearestName } from '../nearest-name.ts';
import type { RawSettings } from './environment.ts';
import { isResourceSetting, RESOURCE_SETTINGS } from './resource-settings.ts';
import { SETTING_NAMES } from './schema.ts';

/** Names such as DATABASE_POOL_SIZE and LOG_FORMAT belong to every program. */
const SHARED_PREFIXES = new Set(['DATABASE_', 'LOG_']);

/** The first words of our settings: a variable that begins with one of them is meant for Sluice. */
const PREFIXES = [...new Set(SETTING_NAMES.map(name => name.slice(0, name.indexOf('_') + 1)))]
  .filter(prefix => !SHARED_PREFIXES.has(prefix))
  .concat('WEIGHT_');

/** Kubernetes and Docker describe other services to a container, under the name of the service, which may be `sluice`. */
const OF_A_SERVICE = /_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?|ENV_\w+)$/;
const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\//;

/** What to do about a setting that holds the address of a service; empty for any other value. */
export function serviceLinkAdvice(name: string, text: string): string {
  const [, service] = /^(.+)_PORT$/.exec(name) ?? [];
  if (service === undefined || !SERVICE_ADDRESS.test(text)) return '';
  const named = service.toLowerCase().replaceAll('_', '-');
  return ` Kubernetes sets it in every pod beside a service named "${named}": name that service otherwise, or set enableServiceLinks: false in the spec of the pod.`;
}
/** Set by build systems, and passed on by images: reproducible-builds.org, Docker Hub, Heroku. */
const OF_BUILDS = new Set([
  'SOURCE_DATE_EPOCH',
  'SOURCE_VERSION',
  'SOURCE_BRANCH',
  'SOURCE_COMMIT',
  'SOURCE_TYPE',
  'SOURCE_REPOSITORY_URL',
]);

/**
 * One problem for each variable that begins like a setting and is none: a misspelt setting would silently have no effect. `keys` are the
 * variables that the sources file names in `api_key_from`; null without such a file.
 */
export function findUnknownSettings({ names, textOf }: RawSettings, keys: ReadonlySet<string> | null): string[] {
  return names.flatMap(name => {
    const prefix = PREFIXES.find(each => name.startsWith(each));
    // A malformed line of .env may yield a name that holds its value.
    if (prefix === undefined || !/^\w+$/.test(name)) return [];
    if (isSetting(name) || isOfOthers(name, textOf(name))) return [];
    const near = nearestSetting(name, prefix);
    // The key of a source in another sources file that shares this environment.
    if (keys?.has(name) || (keys !== null && near === undefined && /KEY/.test(name))) return [];
    const known = [...SETTING_NAMES, ...RESOURCE_SETTINGS].filter(each => each.startsWith(prefix)).join(', ');
    return [`${name} is not a setting; ${near === undefined ? `expected one of ${known}` : `did you mean ${near}?`}`];
  });
}

/** By what follows the prefix; SLUICE_RATE_LIMIT may also mean SOURCE_RATE_LIMIT. */
function nearestSetting(name: string, prefix: string): string | undefined {
  const rest = name.slice(prefix.length);
  const own = SETTING_NAMES.filter(each => each.startsWith(prefix)).map(each => each.slice(prefix.length));
  const near = nearestName(rest, own);
  return near === undefined ? SETTING_NAMES.find(each => each.endsWith(`_${rest}`)) : `${prefix}${near}`;
}

/** With a fixed name, or for one resource: those are checked where they are read. */
const isSetting = (name: string): boolean => SETTING_NAMES.some(each => each === name) || isResourceSetting(name);

/** An empty variable is not set. */
const isOfOthers = (name: string, text: string | undefined): boolean =>
  text === undefined || OF_BUILDS.has(name) || OF_A_SERVICE.test(name) || SERVICE_ADDRESS.test(text);
