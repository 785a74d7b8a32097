import fc from 'fast-check';

// A fixed seed, so that a green suite stays green. PROPERTY_SEED tries other cases.
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 20260115) });
