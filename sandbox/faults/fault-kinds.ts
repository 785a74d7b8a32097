/** Every fault, and what the client receives. */
export const faultKinds = {
  'json-500': 'status 500 with the error envelope',
  'html-500': 'status 500 with an HTML page',
  'json-502': 'status 502 with the error envelope',
  'html-502': 'status 502 with an HTML page',
  'json-503': 'status 503 with the error envelope',
  'html-503': 'status 503 with an HTML page',
  'json-503-seconds': 'status 503 with the error envelope and Retry-After: 5',
  'html-503-date': 'status 503 with an HTML page and a Retry-After date 5 seconds ahead',
  'json-429': 'status 429 with the error envelope although the limit is not exhausted',
  'json-429-seconds': 'like json-429, with Retry-After: 5',
  'json-429-date': 'like json-429, with a Retry-After date 5 seconds ahead',
  'html-429': 'status 429 with an HTML page although the limit is not exhausted',
  'html-429-seconds': 'like html-429, with Retry-After: 5',
  'html-429-date': 'like html-429, with a Retry-After date 5 seconds ahead',
  'success-false': 'status 200 with success false',
  'success-falsy': 'status 200 with an empty list and success 0, "0", "false", "no", "" or null',
  'error-200': 'status 200 with an empty list and an error, without success',
  'html-200': 'status 200 with an HTML page',
  'empty-200': 'status 200 with an empty body',
  'cut-json': 'status 200 with truncated JSON',
  hang: 'no response until the client gives up',
  'hang-body': 'headers and half of the body, then nothing until the client gives up',
  drip: 'the body byte by byte, without end, until the client gives up',
  drop: 'the connection is closed without a response',
  reset: 'the connection is reset without a response',
  'reset-body': 'the connection is reset after half of the body',
  'redirect-path': 'status 301 to another path on this host',
  'redirect-loop': 'status 302 to the same address',
  'redirect-host': 'status 302 to another host, with the query included',
  huge: 'a valid body of 256 MB',
  'huge-gzip': 'a valid body of 256 MB, compressed by gzip to less than 1 MB',
  'wrong-encoding': 'an uncompressed body declared as gzip',
  'row-twice': 'a list with one row repeated',
  'rows-missing': 'a list without every second row, meta unchanged',
  'missing-meta': 'a list without its meta',
  'moved-total': 'a list whose total_records is off by three',
  'empty-list': 'a list without its rows, meta unchanged',
  'empty-list-zero': 'a list without its rows, and meta that counts no rows',
  'rows-unreadable': 'a list in which every fifth row has a field whose value is of the wrong kind',
  'list-changes': 'rows are inserted, edited and deleted just before the list is returned',
} as const;

/** Faults that only a test plans, for every request of a while: no client can tell a single one from an answer that is right. */
export const outages = {
  'html-404': 'status 404 with an HTML page',
  'empty-message': 'status 200 with an empty list and a message, without meta',
} as const;

export type Fault = keyof typeof faultKinds | keyof typeof outages;

/** Only the client's timeout ends these, and it runs on real time whatever clock the sandbox uses. */
export const endlessFaults = ['hang', 'hang-body', 'drip'] as const satisfies readonly Fault[];

/** Status 200 with valid JSON that is wrong, or that no longer fits the page before. These affect lists only. */
export const listFaults = [
  'row-twice',
  'rows-missing',
  'missing-meta',
  'moved-total',
  'empty-list',
  'empty-list-zero',
  'rows-unreadable',
  'list-changes',
] as const satisfies readonly Fault[];

export type ListFault = (typeof listFaults)[number];

export function isListFault(fault: Fault | undefined): fault is ListFault {
  return listFaults.some(each => each === fault);
}
