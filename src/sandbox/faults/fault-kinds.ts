/** Everything that can go wrong with an answer, and how the client meets it. */
export const faultKinds = {
  'json-500': 'status 500 with the error envelope',
  'html-500': 'status 500 with an HTML page',
  'json-502': 'status 502 with the error envelope',
  'html-502': 'status 502 with an HTML page',
  'json-503': 'status 503 with the error envelope',
  'html-503': 'status 503 with an HTML page',
  'json-503-seconds': 'status 503 with the error envelope and Retry-After: 5',
  'html-503-date': 'status 503 with an HTML page and a Retry-After date 5 seconds ahead',
  'json-429': 'status 429 with the error envelope although the limit is not used up',
  'json-429-seconds': 'the same with Retry-After: 5',
  'json-429-date': 'the same with a Retry-After date 5 seconds ahead',
  'html-429': 'status 429 with an HTML page although the limit is not used up',
  'html-429-seconds': 'the same with Retry-After: 5',
  'html-429-date': 'the same with a Retry-After date 5 seconds ahead',
  'success-false': 'status 200 with success false',
  'html-200': 'status 200 with an HTML page',
  'empty-200': 'status 200 with an empty body',
  'cut-json': 'status 200 with JSON cut off in the middle',
  hang: 'no answer until the client gives up',
  'hang-body': 'headers and half of the body, then nothing until the client gives up',
  drip: 'the body byte by byte, never to its end, until the client gives up',
  drop: 'the connection is closed without an answer',
  reset: 'the connection is reset without an answer',
  'reset-body': 'the connection is reset after half of the body',
  'redirect-path': 'status 301 to another path here',
  'redirect-loop': 'status 302 to the same address again',
  'redirect-host': 'status 302 to another host, the query repeated in it',
  huge: 'a valid body of 256 MB',
  'huge-gzip': 'a valid body of 256 MB, packed by gzip into a fraction of one',
  'wrong-encoding': 'a plain body that is said to be gzip',
  'row-twice': 'a list with one of its rows twice',
  'rows-missing': 'a list without every other of its rows, meta as it was',
  'missing-meta': 'a list without its meta',
  'moved-total': 'a list whose total_records is off by three',
  'empty-list': 'a list without its rows, meta as it was',
  'empty-list-zero': 'a list without its rows, meta counting none',
  'list-changes': 'rows are inserted, edited and deleted just before the list is answered',
} as const;

export type Fault = keyof typeof faultKinds;

/** They end only by the time-out of the client, which is real time whatever clock the sandbox goes by. */
export const endlessFaults = ['hang', 'hang-body', 'drip'] as const satisfies readonly Fault[];

/** A healthy look: status 200 and sound JSON that is not true, or no longer what the page before was part of. They befall lists only. */
export const listFaults = [
  'row-twice',
  'rows-missing',
  'missing-meta',
  'moved-total',
  'empty-list',
  'empty-list-zero',
  'list-changes',
] as const satisfies readonly Fault[];

export type ListFault = (typeof listFaults)[number];

export function isListFault(fault: Fault | undefined): fault is ListFault {
  return listFaults.some(each => each === fault);
}
