import { fail, html } from './answers.ts';
import type { Variants } from './variants.ts';

export type Fault = Exclude<Variants['fault'], 'none'>;

/** Decides which requests go wrong, and how. */
export interface Faults {
  /** Makes the next `count` requests, or those whose path contains `path`, go wrong. */
  failNext(fault: Fault, count?: number, path?: string): void;
  /** The fault of the request that is number `index` since the start, if any. */
  of(index: number, path: string): Fault | undefined;
}

const EVERY = 10;

export function createFaults(style: () => Variants['fault']): Faults {
  const planned: { fault: Fault; path: string }[] = [];
  return {
    failNext(fault, count = 1, path = '') {
      for (let index = 0; index < count; index += 1) planned.push({ fault, path });
    },
    of(index, path) {
      const next = planned.findIndex(plan => path.includes(plan.path));
      if (next >= 0) return planned.splice(next, 1)[0]?.fault;
      const standing = style();
      return standing === 'none' || index % EVERY !== 0 ? undefined : standing;
    },
  };
}

/** What is sent instead of the answer; `cut-json` sends half of it. */
export async function spoil(fault: Exclude<Fault, 'hang' | 'drop'>, answer: Response): Promise<Response> {
  switch (fault) {
    case 'json-500':
      return fail(500, 'Server error');
    case 'html-500':
      return html(500, '500 Internal Server Error');
    case 'success-false':
      return new Response('{"success":false,"message":"Temporarily out of order"}', { headers: jsonOf(answer) });
    case 'html-200':
      return html(200, 'Maintenance');
    case 'empty-200':
      return new Response('', { headers: jsonOf(answer) });
    case 'cut-json': {
      const text = await answer.text();
      return new Response(text.slice(0, Math.ceil(text.length / 2)), { headers: jsonOf(answer) });
    }
  }
}

function jsonOf(answer: Response): Record<string, string> {
  return { 'content-type': answer.headers.get('content-type') ?? 'application/json' };
}
