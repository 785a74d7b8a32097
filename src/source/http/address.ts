import { SluiceError } from '../../errors.ts';
import { hideSecrets } from '../../log.ts';
import { isLoopback } from '../../loopback.ts';
import { COMMAND_WORDING, type Wording } from './wording.ts';

/** The base address of an installation and how requests to it are authenticated. */
export interface Address {
  /** Scheme and host, for messages. */
  readonly origin: string;
  readonly host: string;
  /** The full URL of a request; with `auth: 'query'` it holds the key and is never shown. */
  readonly url: (path: string, query: Readonly<Record<string, string>>) => string;
  readonly headers: Readonly<Record<string, string>>;
  /** Removes the key from a text, in every form it could have there. */
  readonly hide: (text: string) => string;
}

/** Checks the base address and the key, and sends the key in either documented way. Throws the kind `configuration`. */
export function createAddress(options: {
  url: string;
  apiKey: string;
  auth: 'bearer' | 'query';
  wording?: Wording;
}): Address {
  const { apiKey, auth, wording = COMMAND_WORDING } = options;
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new SluiceError('configuration', `${wording.apiKey} is empty or contains characters that no API key has.`, {
      next: 'Copy the key again from the source: Settings → API Access.',
    });
  }
  const base = checkedBase(options.url, wording);
  const formEncoded = new URLSearchParams({ k: apiKey }).toString().slice(2);
  return {
    origin: base.origin,
    host: base.hostname,
    headers: auth === 'bearer' ? { authorization: `Bearer ${apiKey}` } : {},
    hide: hideSecrets([apiKey, formEncoded]),
    url(path, query) {
      const endpoint = path.replace(/^\/+/, '');
      // Documented form: {base_url}/?api_key=<API_KEY>&ng=api/v2/endpoint, slashes in `ng` left as they are.
      const [address, first] =
        auth === 'bearer' ? [endpoint, ''] : ['', `api_key=${encodeURIComponent(apiKey)}&ng=${encodeURI(endpoint)}`];
      const search = [first, new URLSearchParams(query).toString()].filter(Boolean).join('&');
      return `${base.prefix}/${address}${search && `?${search}`}`;
    },
  };
}

function checkedBase(text: string, wording: Wording): { origin: string; hostname: string; prefix: string } {
  if (!URL.canParse(text)) throw wrongUrl(wording, 'is not a valid URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw wrongUrl(wording, 'must begin with https://');
  if (url.username || url.password) throw wrongUrl(wording, 'must not contain a user name or password');
  if (url.search || url.hash) throw wrongUrl(wording, 'must not contain ? or #');
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw wrongUrl(wording, `must begin with https://: plain http would expose the key on its way to ${url.hostname}`);
  }
  // The base of the documented paths ends before /api/v2, but people paste the address of the API itself.
  const prefix = url.origin + url.pathname.replace(/\/+$/, '').replace(/\/api\/v2$/, '');
  return { origin: url.origin, hostname: url.hostname, prefix };
}

/** Does not repeat the address, which may contain a pasted key. */
function wrongUrl(wording: Wording, problem: string): SluiceError {
  return new SluiceError('configuration', `${wording.url} ${problem}.`, {
    next: `Example: ${wording.exampleUrl}`,
  });
}
