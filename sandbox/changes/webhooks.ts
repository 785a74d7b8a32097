import { SECOND } from '../../src/clock.ts';
import { toJson } from '../envelopes/json-text.ts';
import type { Variants } from '../variants/variants.ts';
import type { EventKind } from './edits.ts';

interface Registration {
  id: number;
  url: string;
  events: string[];
}

interface Message {
  url: string;
  body: string;
}

export interface Webhooks {
  readonly register: (url: string, events: string[]) => Registration;
  readonly emit: (event: EventKind, data: () => object) => void;
  /** Removes all registrations and drops held messages. */
  readonly clear: () => void;
  /** Resolves when every event emitted so far was sent or has failed. */
  readonly settled: () => Promise<void>;
}

/** Sends events in sequence, without retries. The document shows neither payload nor headers; these are invented. */
export function createWebhooks(delivery: () => Variants['webhooks']): Webhooks {
  const registered: Registration[] = [];
  let sending: Promise<void> = Promise.resolve();
  // Under `swapped`: the messages of the first event of a pair.
  let held: Message[] = [];

  const send = async (url: string, body: string) => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(5 * SECOND),
      });
      await response.arrayBuffer();
    } catch {
      // At most once: a receiver must not rely on retries.
    }
  };

  const queue = ({ url, body }: Message) => {
    sending = sending.then(() => send(url, body));
  };
  const release = () => held.splice(0).forEach(queue);

  return {
    register(url, events) {
      const registration = { id: registered.length + 1, url, events };
      registered.push(registration);
      return registration;
    },
    emit(event, data) {
      const times = { once: 1, twice: 2, swapped: 1, never: 0 }[delivery()];
      const messages = registered
        .filter(({ events }) => events.includes(event))
        .map(({ url }) => ({ url, body: toJson({ event, data: data() }) }));
      if (delivery() === 'swapped' && held.length === 0) {
        held = messages;
        return;
      }
      for (const message of messages) for (let time = 0; time < times; time += 1) queue(message);
      release();
    },
    clear() {
      registered.length = 0;
      held = [];
    },
    settled() {
      release();
      return sending;
    },
  };
}
