/** Words of a field's name that give away a password, a key or a token. A space stands for any separator, or none after a `?`. */
const SECRET = new RegExp(
  [
    // Passwords. Alone, `pass` may be a ticket, and `passport` is no secret of this kind.
    'pass ?wor[dt]|passwd|pass ?phrase|pass ?(?:hash|salt)|\\bpass ?(?:code|key)s?\\b|kennwort|contrase[nñ]a',
    '\\b(?:user|usr|db|database|smtp|imap|pop3?|mail|email|ftp|sftp|ssh|ldap|login|admin|account|api|mysql|root|proxy|portal|http|encrypted|hashed) ?pass$',
    'pwd|pswd|\\bpsw\\b|\\bpw$|\\bpw ?(?:hash|salt|reset)|auto ?login$|remember ?(?:token|code)',
    'secret(?!ar)|\\bsalt$|(?:user|hash) ?salt$',
    // Keys and tokens. `token count` and `tokens` measure something.
    'api ?keys?\\b|private ?key|\\b(?:app|auth|access|signing|encryption|encrypt|ssh|consumer|session|master|reset|activation|recovery|hmac|aes|rsa) ?keys?\\b',
    'token ?\\d*$|token ?(?:hash|value|key|plain|encrypted)|(?:api|access|refresh|auth|session|reset|device|bearer) ?tokens$',
    '\\bjwts?\\b|\\bbearer$|connection ?string|seed ?phrase|\\b(?:login|api|auth|user|access|smtp|db) ?credentials?$',
    // Second factors and codes. `pin code` is a postal code in India.
    '\\b[th]?otp(?:\\b|(?:code|key|seed|hash|token|ur[il])s?\\b)|\\b(?:2fa|mfa|tfa)(?:\\b|(?:code|key|seed)s?\\b)|two ?factor|authenticator',
    '(?:recovery|backup|scratch|security|verification|activation|reset|login|one ?time) ?codes?$|security ?answer',
    '^pin$|\\b(?:user|login|card|access|security|account|transaction|atm) ?pin$|\\bpin ?hash',
    // Payment cards.
    'card ?(?:number|num|no|nr|pan|cvv|cvc|csc)2?$|\\bcc ?(?:number|num|no|nr|cvv|cvc|csc)$|\\bcvv|\\bcvc|(?:credit|debit) ?cards?(?: ?(?:data|details))?$',
  ].join('|'),
  'u',
);
/** What is said about a secret: when it changed, whether there is one. */
const ABOUT =
  / (?:count|at|on|date|expires|expired|expiry|enabled|required|type|length|status|changed|verified|confirmed)$/;

/** Longer names are judged by their two ends, so that no name takes long. */
const MOST = 200;

/** Whether a field of this name holds a password, a key, a token or the like; whatever its capitals, `_` and `-`. */
export function isSecretName(name: string): boolean {
  const short = name.length > MOST ? `${name.slice(0, MOST / 2)} ${name.slice(-MOST / 2)}` : name;
  const text = short.normalize('NFKC');
  const words = spaced(text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2'));
  if (ABOUT.test(words)) return false;
  // Capitals may begin words, or mean nothing: `apiKey`, `pAsSwOrD`.
  return SECRET.test(words) || SECRET.test(spaced(text));
}

/** Equal for names that differ only in capitals, `_`, `-` and the like. */
export const plainName = (name: string): string => spaced(name.slice(0, MOST).normalize('NFKC')).replaceAll(' ', '');

const spaced = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
