import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import { RECEIVERS_FILE, type Receiver } from '../../receivers.ts';
import { beginDelivery } from '../../warehouse/ledgers/deliveries.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type DeliveryOptions, deliverNext } from './deliver-next.ts';

/** How often the file of the receivers and the newest numbers are looked at. */
const LOOK_EVERY_MS = SECOND;

/**
 * Delivers changes to all receivers of these sources until `signal` aborts, each in order, and none waiting for another. Every process does so;
 * at each moment, one of them delivers to a receiver.
 */
export async function deliverChanges(
  options: DeliveryOptions & {
    readonly clock: Clock;
    readonly sources: readonly Pick<ServedSource, 'name' | 'schema'>[];
    /** As the file is now. */
    readonly readReceivers: () => readonly Receiver[];
    /** What a receiver names and there is not; null if there is all of it. */
    readonly describeUnknown: (receiver: Receiver) => string | null;
  },
  signal: AbortSignal,
): Promise<void> {
  const { database, sources, readReceivers, describeUnknown, clock, log } = options;
  const schemas = new Map(sources.map(({ name, schema }) => [name, schema]));
  const running = new Map<string, Promise<void>>();
  let receivers: readonly Receiver[] = [];
  /** Reasons, by whose they are and what follows from them: looked for each second, and said once. */
  const said = new Map<string, string>();
  const report = (of: string, consequence: string, reason: string | null) => {
    const key = `${of} ${consequence}`;
    if (reason === null) return void said.delete(key);
    if (reason !== said.get(key)) log.warn({ of, reason }, consequence);
    said.set(key, reason);
  };

  const read = () => {
    const consequence = 'the receivers stay as they were';
    try {
      receivers = readReceivers();
      report(RECEIVERS_FILE, consequence, null);
    } catch (error) {
      report(RECEIVERS_FILE, consequence, explain(error));
    }
    for (const receiver of receivers)
      report(receiver.name, 'a receiver does not get what it should', describeUnknown(receiver));
  };

  async function serve({ name, source }: Receiver, schema: string): Promise<void> {
    await beginDelivery(database.kysely, { source, name }, { schema });
    for (let more = true; more && !signal.aborted; ) {
      // It may have been changed or removed since the message before.
      const receiver = receivers.find(each => each.name === name && each.source === source);
      more = receiver !== undefined && (await deliverNext(options, receiver, schema, signal));
    }
  }

  while (!signal.aborted) {
    read();
    for (const receiver of receivers) {
      const { name } = receiver;
      const schema = schemas.get(receiver.source);
      if (schema === undefined || running.has(name)) continue;
      const serving = serve(receiver, schema)
        .then(() => null, explain)
        .then(reason => report(name, 'could not look for changes', reason))
        .finally(() => running.delete(name));
      running.set(name, serving);
    }
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
  }
  await Promise.all(running.values());
}
