import fc from 'fast-check';

// One seed for every run, so that a suite that was green stays green; PROPERTY_SEED looks elsewhere.
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 20260115) });
