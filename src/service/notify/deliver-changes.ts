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
  },
  signal: AbortSignal,
): Promise<void> {
  const { database, sources, readReceivers, clock, log } = options;
  const schemas = new Map(sources.map(({ name, schema }) => [name, schema]));
  const running = new Map<string, Promise<void>>();
  let receivers: readonly Receiver[] = [];
  /** Of receivers, by name, and of the file, whose is none: looked for each second, and said once. */
  const problems = new Map<string, string>();
  const report = (of: string, error: unknown, consequence: string) => {
    const reason = explain(error);
    if (reason !== problems.get(of)) log.warn({ of, reason }, consequence);
    problems.set(of, reason);
  };

  const read = () => {
    try {
      receivers = readReceivers();
      problems.delete(RECEIVERS_FILE);
    } catch (error) {
      report(RECEIVERS_FILE, error, 'the receivers stay as they were');
    }
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
        .then(() => void problems.delete(name))
        .catch((error: unknown) => report(name, error, 'could not look for changes'))
        .finally(() => running.delete(name));
      running.set(name, serving);
    }
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
  }
  await Promise.all(running.values());
}
