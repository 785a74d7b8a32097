import { SECOND } from '../../clock.ts';
import { toJson } from '../lists/render-row.ts';
import type { Variants } from '../variants/variants.ts';
import type { EventKind } from './edits.ts';

interface Registration {
  id: number;
  url: string;
  events: string[];
}

export interface Webhooks {
  register(url: string, events: string[]): Registration;
  emit(event: EventKind, data: () => object): void;
  /** Nothing is registered any more, and what is held back is dropped. */
  forget(): void;
  /** Resolves when everything emitted so far has been sent or has failed. */
  settled(): Promise<void>;
}

/** Sends events one after the other; what fails is not sent again. Payload and headers are not documented: these are made up. */
export function createWebhooks(style: () => Variants['webhooks']): Webhooks {
  const registered: Registration[] = [];
  let sending: Promise<void> = Promise.resolve();
  let held: { url: string; body: string }[] = [];

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
      // At most once and without retries: a receiver must not rely on more.
    }
  };

  const queue = ({ url, body }: { url: string; body: string }) => {
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
      const times = { once: 1, twice: 2, swapped: 1, never: 0 }[style()];
      const events = registered
        .filter(({ events }) => events.includes(event))
        .map(({ url }) => ({ url, body: toJson({ event, data: data() }) }));
      if (style() === 'swapped' && held.length === 0) {
        held = events;
        return;
      }
      for (const each of events) for (let time = 0; time < times; time += 1) queue(each);
      release();
    },
    forget() {
      registered.length = 0;
      held = [];
    },
    settled() {
      release();
      return sending;
    },
  };
}
